"""Self-contained HTML pages: they load nothing from other places."""

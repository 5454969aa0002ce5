"""Pages in a browser, for operators and for tenants' people."""

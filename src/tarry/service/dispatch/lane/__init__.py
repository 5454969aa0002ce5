"""One endpoint's lane: what it sends, what comes back, and what becomes of each delivery."""

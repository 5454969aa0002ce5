"""Where the service keeps what it must not lose: one contract, and the stores that keep it."""

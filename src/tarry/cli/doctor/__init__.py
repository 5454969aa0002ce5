"""`tarry doctor`: looks at all that delivering depends on, one thing after the other."""

"""`tarry doctor`: check, one by one, the things that delivering depends on."""

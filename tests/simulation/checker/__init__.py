"""The checker: knows what the service promises, and nothing of how it is done."""

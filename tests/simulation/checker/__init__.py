"""The checker: it knows what the service promises, and nothing of the implementation."""

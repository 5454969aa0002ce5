"""Durable storage of the service: one contract, and the stores that implement it."""

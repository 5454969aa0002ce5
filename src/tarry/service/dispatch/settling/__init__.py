"""Writes outcomes of attempts to the store."""

"""A store in one SQLite file: for one process that sends, and any number that add and look."""

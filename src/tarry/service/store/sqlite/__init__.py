"""A store in one SQLite file: one process sends, any number of processes add and read."""

"""The database file: connections, the threads that use them, rows, errors, room on the disk.

Everything here is used by the other folders and knows nothing of them. What the store does with
messages, deliveries and endpoints is not here.
"""

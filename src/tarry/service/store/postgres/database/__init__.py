"""The connection to the database: pool, notifications, rows, inserts, errors.

Everything here is used by the other folders and knows nothing of them. What the store does with
messages, deliveries and endpoints is not here.
"""

"""The deliveries of a lane that are in memory.

`buffer.py` is the cache of one lane, with its read position. `rows.py` has what it is made of.
`feed.py` reads rows from the store for many lanes at once. How many deliveries wait in the store
is not counted here, but in `lane/backlog.py`.
"""

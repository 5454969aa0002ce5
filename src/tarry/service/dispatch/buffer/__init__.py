"""The deliveries of a lane that are in memory.

`buffer.py` is the cache of one lane, with its read position. `rows.py` has the parts of that cache.
`ownership/lane_loader.py` reads the rows from the store, for many lanes at once. The number of
deliveries that wait in the store is counted in `lane/backlog.py`.
"""

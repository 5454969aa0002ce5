"""The gates that lanes of one origin share while they fail together.

`origin.py` is one origin, `member.py` a lane as its origin knows it, and `origins.py` all origins.
`evidence.py` has what is known against an origin; `turn_queue.py` decides whose turn it is.
`shared_record.py` is what workers know of an origin together, and `record_exchange.py` writes and
reads it. The pacer that a gate goes by is in `limits/gate.py`.
"""

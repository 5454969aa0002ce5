"""The gates that lanes of one origin share while they fail together.

`origin.py` is one origin, `member.py` a lane as its origin knows it, and `origins.py` all origins.
`answers.py` handles the answers to its lanes, `evidence.py` has what they prove, and
`turn_queue.py` decides which lane sends next.
`shared_record.py` is the record that workers share of an origin, and `record_exchange.py` writes
and reads it. The gate with its pacer is in `limits/gate.py`.
"""

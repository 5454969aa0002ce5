"""The limits that a request waits for, other than its lane's own.

`gate.py` is the pacer of a lane or an origin, and `pace_text.py` its state as it is stored.
`rates.py` spaces sends and shares an application's rate; `slots.py` shares the process's slots.
Not here: requests in flight and the retry budget of one lane (`lane/allowance.py`), and whose turn
it is at a shared gate (`origins/turn_queue.py`).
"""

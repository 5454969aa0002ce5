"""What a request has to wait for besides its lane's own limits.

`gate.py` is the pacer of a lane or an origin, and `pace_text.py` its state as it is stored.
`rates.py` spaces sends and shares an application's rate; `slots.py` shares the process.
Not here: requests in flight and the retry budget of one lane (`lane/allowance.py`), and whose turn
it is at a shared gate (`origins/turn_queue.py`).
"""

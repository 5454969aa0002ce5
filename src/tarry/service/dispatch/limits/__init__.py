"""The limits that a request waits for, other than its lane's own.

`gate.py` is the pacer of a lane or an origin. `shared.py` has what lanes share: the rate of an
application and the slots of the process.
Not here: requests in flight and the retry budget of one lane (`lane/allowance.py`), and whose turn
it is at a shared gate (`origins/turn_queue.py`).
"""

"""One endpoint's lane: `lane.py` holds it together, and `driver.py` connects it to what it does.

What it does: `sending.py` (with `pending_attempt.py`), `answers.py`, and `phases.py` when its gate
moves. What it has: `gates.py` (its own gate, or a shared one), `allowance.py` (its own limits),
`backlog.py` (how much waits), `config.py` (where to send, signed with what, by which policy), and
`endpoint_record.py` (what is known of the endpoint, and when its owner hears of it).
Not here: rows in memory (`buffer/`), what an answer means (`outcomes/`), writing (`settling/`).
"""

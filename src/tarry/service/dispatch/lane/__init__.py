"""One endpoint's lane: `lane.py` has its parts, and `lane_loader.py` gives it its functions.

Its functions: `sending.py` (with `pending_attempt.py`), `answers.py`, and `phases.py` for changes
of its gate's phase. Its parts: `allowance.py` (its gate, own or shared, and its own limits),
`backlog.py` (how many deliveries wait), `config.py` (URL, secrets and policy), and
`endpoint_record.py` (what is known of the endpoint, and the notices to its owner).
Not here: rows in memory (`buffer/`), what an answer means (`outcomes/`), writing (`settling/`).
"""

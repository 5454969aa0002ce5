"""One endpoint's lane: `lane.py` has its parts, and `lane_loader.py` gives it its functions.

Its functions: `sending.py`, `answers.py`, and `phases.py` for changes of its gate's phase. Its
parts: `attempt.py` (config, request, flight and record of an attempt), `allowance.py` (its gate,
own or shared, and its own limits), `backlog.py` (how many deliveries wait), and
`endpoint_record.py` (what is known of the endpoint, and the notices to its owner).
Not here: rows in memory (`buffer/`), what an answer means (`outcomes/`), writing (`settling/`).
"""

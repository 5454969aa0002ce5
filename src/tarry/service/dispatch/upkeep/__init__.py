"""Work beside deliveries.

`upkeep.py` has ages, retention and the outbox. `watchdog.py` wakes lanes that have stalled.
`tasks.py` does tasks in pieces, `counts.py` those that count, with the numbers of `statistics.py`.
`notices.py` sends operational webhooks. When an endpoint is parked and what its owner hears of is
decided in `lane/endpoint_record.py`.
"""

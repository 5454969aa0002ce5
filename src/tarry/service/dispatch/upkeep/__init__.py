"""Work other than deliveries.

`upkeep.py` has ages, retention and the outbox. `watchdog.py` wakes lanes that have stalled.
`tasks.py` does tasks in pieces. `counts.py` does tasks that count, with numbers from
`statistics.py`. `notices.py` sends operational webhooks. `lane/endpoint_record.py` decides when an
endpoint is parked and which notices its owner gets.
"""

"""Deliveries of messages to endpoints, and the attempts of each.

`attempts.py` lists and shows attempts and resends messages. `deliveries.py` lists deliveries by
endpoint and by message, `undelivered.py` those that wait or failed. `statuses.py` translates states
into the numbers and words that API clients know. Not here: messages (`messages/`), and the replay
of a period (`endpoints/recovery.py`).
"""

"""What belongs to a whole environment: API keys, background tasks, usage, health.

`whoami.py` tells a caller what its key may do. Not here: event types (`event_types/`), and
operational webhooks (`endpoints/operational_webhooks.py`).
"""

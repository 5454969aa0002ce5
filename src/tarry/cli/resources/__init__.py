"""The commands that call a running server: a file for each kind of resource.

`send.py`, `message.py`, `attempt.py`, `undelivered.py` and `recover.py` are about messages;
`app.py`, `endpoint.py`, `lane.py`, `signing.py`, `defaults.py`, `event_type.py` and `task.py` about
the rest. Not here: `tarry key`, which also works without a server (`service/key.py`).
"""

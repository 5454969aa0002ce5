"""Endpoints, and everything that belongs to one endpoint.

`endpoints.py` has the operations on endpoints and `bodies.py` their bodies. `headers.py`,
`secrets.py`, `policies.py` and `lanes.py` configure and control the sending; `stats.py` counts it,
`recovery.py` repeats it, and `example_message.py` tests it. `operational_webhooks.py` has the
endpoints that are notified of changes, and `change_notices.py` the notices. `all_endpoints.py`
iterates over the endpoints of an application. Not here: what was sent to them (`attempts/`).
"""

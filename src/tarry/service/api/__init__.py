"""The HTTP API of the service.

`open.py` builds the API from all operations, `app.py` is the ASGI callable that answers each
request, and `server.py` serves it. `http/` has what every request needs, `resources/` the
operations, and `openapi/` their description.
"""

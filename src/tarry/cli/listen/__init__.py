"""`tarry listen`, a receiver of webhooks for local use.

`command.py` has the options, `http_server.py` the server, and `inbox.py` verifies and answers each
request. Not here: what receivers import from their own programs (`tarry.receive`).
"""

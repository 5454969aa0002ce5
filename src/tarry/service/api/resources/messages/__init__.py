"""Messages: accepting them, and reading what was accepted.

`ingest.py` accepts messages, with `send_cache.py` for what each of them needs. `history.py` lists,
shows, cancels and expunges messages. `bodies.py` has the bodies of both, and `newest_first.py` what
lists of recent messages and attempts share. Not here: where a message was sent, and the responses
(`attempts/`).
"""

"""Calls to a tarry server, for the commands that need one.

`client.py` sends requests, and `error_text.py` describes in one line why one failed. `remote.py`
has the options of a server and shows responses, `names.py` looks up names for ids, and `polling.py`
waits for work in the background. Not here: the commands (`resources/`).
"""

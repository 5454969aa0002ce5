"""The operations of the API, with the bodies of their requests and responses.

There is a folder for each kind of resource. `call.py` is the context that every handler gets, and
`upsert.py` creates or changes an object while other requests may do the same. Not here: how HTTP
requests are read, authorized and answered (`http/`).
"""

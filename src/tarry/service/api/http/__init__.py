"""What every HTTP request needs, whichever operation it calls.

The connection (`connection`), the request and its operation (`request`, `operation`, `routes`), who
may call it and how often (`access`, `cors`, `rate_limit`, `idempotency`), queries and bodies
(`parsing`, `choices`, `surrogates`, `times`), responses (`problem`, `paging`), a `cache` of store
queries, and `metrics`. Not here: anything about a particular resource (`resources/`).
"""

"""A store in PostgreSQL: many API and worker processes on many hosts, one database.

`store.py` puts the parts together. A message is accepted by `ingest/`, and sent and settled through
`queue/`; both use `database/`. The SQL is in `sql/`, and `queries.py` has it by name. SQLite's
folders have the same names. `outbox.py` is for programs that write messages in their own
transactions.
"""

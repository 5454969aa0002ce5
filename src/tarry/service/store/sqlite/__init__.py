"""A store in one SQLite file: one process sends, any number of processes add and read.

`store.py` puts the parts together. A message is accepted by `ingest/`, and sent and settled through
`queue/`; both use `database/`. The SQL is in `sql/`, and `queries.py` has it by name. PostgreSQL's
folders have the same names.
"""

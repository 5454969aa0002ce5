"""The SQL of this store, by name."""

from tarry.service.store.sql_files import load

SQL = {name: query.sql for name, query in load(__package__).items()}

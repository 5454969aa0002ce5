"""A store in PostgreSQL: many API and worker processes on many hosts, one database."""

"""The PostgreSQL store: many API and worker processes on many hosts, one database."""

"""The service's entities as values: no clock, no socket and no database in here."""

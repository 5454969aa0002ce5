"""The things the service is about, as values: no clock, no socket and no database in here."""

-- How many deliveries led to a message, so that endless chains are noticed.

ALTER TABLE message ADD COLUMN chain INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 4;

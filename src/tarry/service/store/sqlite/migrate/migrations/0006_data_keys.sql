-- Data keys, which seal the payloads and responses of one application each. `sealed_with` names the
-- data key of a row; without one, the row is not sealed.

CREATE TABLE data_key (
    id          TEXT PRIMARY KEY,
    application TEXT NOT NULL UNIQUE,
    sealed      BLOB NOT NULL,
    created_at  REAL NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE message ADD COLUMN sealed_with TEXT;
ALTER TABLE attempt ADD COLUMN sealed_with TEXT;

PRAGMA user_version = 6;

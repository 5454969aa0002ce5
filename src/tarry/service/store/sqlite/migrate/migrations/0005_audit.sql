-- The audit trail: who changed what. Each entry is written in the commit of its change.

CREATE TABLE audit (
    id          TEXT PRIMARY KEY,
    environment TEXT NOT NULL,
    application TEXT,
    at          REAL NOT NULL,
    actor       TEXT NOT NULL,
    key         TEXT,
    operation   TEXT NOT NULL,
    target      TEXT NOT NULL,
    document    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_environment ON audit (environment, id);
CREATE INDEX audit_at ON audit (at);

PRAGMA user_version = 5;

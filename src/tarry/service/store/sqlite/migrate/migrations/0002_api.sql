-- Data of the HTTP API: event types, keys to the API, claims of requests. Also which notices were
-- sent, and the environments of tasks.

CREATE TABLE event_type (
    environment TEXT NOT NULL,
    name        TEXT NOT NULL,
    archived    INTEGER NOT NULL,
    document    TEXT NOT NULL,
    PRIMARY KEY (environment, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX event_type_listed ON event_type (environment, name) WHERE NOT archived;

-- `ends_at` is when it expires or was revoked, whichever came first.
CREATE TABLE api_key (
    id          TEXT PRIMARY KEY,
    environment TEXT NOT NULL,
    hash        BLOB NOT NULL UNIQUE,
    application TEXT,
    session     TEXT,
    ends_at     REAL,
    document    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX api_key_listed ON api_key (environment, id) WHERE application IS NULL;
CREATE INDEX api_key_application ON api_key (application) WHERE application IS NOT NULL;
CREATE INDEX api_key_ended ON api_key (ends_at)
 WHERE application IS NOT NULL AND ends_at IS NOT NULL;

-- Secrets of the service itself, sealed.
CREATE TABLE kept (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE claim (
    environment TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    at          REAL NOT NULL,
    holder      TEXT NOT NULL,
    until       REAL NOT NULL,
    status      INTEGER,
    body        BLOB NOT NULL,
    PRIMARY KEY (environment, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX claim_at ON claim (at);

ALTER TABLE notice ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
UPDATE notice SET told = 1;  -- old notices are not sent
CREATE INDEX notice_untold ON notice (id) WHERE NOT told;

ALTER TABLE task ADD COLUMN environment TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN work TEXT NOT NULL DEFAULT '';
UPDATE task
   SET environment = coalesce((SELECT environment FROM application
                                WHERE application.id = task.application), ''),
       work = document ->> 'work';
UPDATE task SET document = json_set(document, '$.environment', environment);
CREATE INDEX task_environment ON task (environment, id);

-- Beside `delivery_ready` and `delivery_stuck`: now every state but delivered has an index.
CREATE INDEX delivery_dropped ON delivery (lane, seq)
 WHERE state IN ('skipped', 'cancelled', 'discarded');

PRAGMA user_version = 2;

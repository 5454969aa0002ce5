-- The first schema: messages, endpoints, deliveries, attempts, and the workers' shards.
-- Tables whose rows are read by their own number are ordinary. Tables whose rows are read by their
-- place in a lane have no other number (WITHOUT ROWID), so that a lane's rows lie side by side.

CREATE TABLE environment (
    id     TEXT PRIMARY KEY,
    policy TEXT
) STRICT, WITHOUT ROWID;

-- `version` grows with every change of the application or of one of its endpoints: a cache of the
-- endpoints checks it first. `document` is the whole value, in JSON.
CREATE TABLE application (
    id           TEXT PRIMARY KEY,
    environment  TEXT NOT NULL,
    uid          TEXT,
    most_waiting INTEGER,
    version      INTEGER NOT NULL,
    deleted_at   REAL,
    document     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX application_environment ON application (environment, id);
CREATE UNIQUE INDEX application_uid ON application (environment, uid)
 WHERE uid IS NOT NULL AND deleted_at IS NULL;

CREATE TABLE endpoint (
    id          TEXT PRIMARY KEY,
    application TEXT NOT NULL,
    uid         TEXT,
    lane        INTEGER NOT NULL UNIQUE,
    standing    TEXT NOT NULL,
    sealed      INTEGER NOT NULL,
    document    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX endpoint_application ON endpoint (application, id);
CREATE UNIQUE INDEX endpoint_lane ON endpoint (application, lane);
CREATE UNIQUE INDEX endpoint_uid ON endpoint (application, uid)
 WHERE uid IS NOT NULL AND standing <> 'deleted';
CREATE INDEX endpoint_sealed ON endpoint (id) WHERE sealed;

-- Columns that `add` writes. `added` is also the last sequence number. `version` grows with every
-- change of the endpoint or the application, so that the lane's owner reads it again.
CREATE TABLE lane (
    number  INTEGER PRIMARY KEY,
    shard   INTEGER NOT NULL,
    added   INTEGER NOT NULL DEFAULT 0,
    awake   INTEGER NOT NULL DEFAULT 1,
    dozing  INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX lane_awake ON lane (shard, number) WHERE awake;

-- Columns that sending writes. The deliveries that were added and have not ended are waiting.
CREATE TABLE lane_state (
    lane  INTEGER PRIMARY KEY,
    ended INTEGER NOT NULL DEFAULT 0,
    known TEXT
) STRICT;

-- Wake-ups: lanes that changed, until the owner of their shard has read them.
CREATE TABLE wake (
    shard INTEGER NOT NULL,
    lane  INTEGER NOT NULL,
    PRIMARY KEY (shard, lane)
) STRICT, WITHOUT ROWID;

-- The payload comes last, so that reading the other columns need not pass over it.
CREATE TABLE message (
    number        INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    application   TEXT NOT NULL,
    event_type    TEXT NOT NULL,
    event_id      TEXT,
    channels      TEXT NOT NULL,
    tags          TEXT NOT NULL,
    accepted_at   REAL NOT NULL,
    deliver_at    REAL,
    payload_until REAL,
    content_type  TEXT,
    payload       BLOB
) STRICT;

CREATE INDEX message_application ON message (application, id);
CREATE INDEX message_accepted ON message (application, accepted_at, id);
CREATE UNIQUE INDEX message_event ON message (application, event_id) WHERE event_id IS NOT NULL;
CREATE INDEX message_kept ON message (accepted_at, (payload IS NULL));
CREATE INDEX message_expires ON message (payload_until)
 WHERE payload_until IS NOT NULL AND payload IS NOT NULL;

CREATE TABLE key (
    environment TEXT NOT NULL,
    key         TEXT NOT NULL,
    message     INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    accepted_at REAL NOT NULL,
    PRIMARY KEY (environment, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX key_message ON key (message);
CREATE INDEX key_accepted ON key (accepted_at);

CREATE TABLE delivery (
    lane        INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    message     INTEGER NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    tries       INTEGER NOT NULL DEFAULT 0,
    memory      REAL,
    due_at      REAL,
    accepted_at REAL NOT NULL,
    ended_at    REAL,
    PRIMARY KEY (lane, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX delivery_message ON delivery (message);
-- One index for each query of a lane, each with only the rows it needs: deliveries that have ended
-- or wait for something else are not read. A delivery that succeeds at once has been in the first
-- and the last index only.
CREATE INDEX delivery_ready ON delivery (lane, seq) WHERE state = 'ready';
CREATE INDEX delivery_waiting ON delivery (lane, due_at, seq) WHERE state = 'waiting';
CREATE INDEX delivery_early ON delivery (lane, due_at, seq)
 WHERE state = 'waiting' AND reason <> 'scheduled';
CREATE INDEX delivery_stuck ON delivery (lane, seq) WHERE state IN ('waiting', 'failed');
CREATE INDEX delivery_aging ON delivery (lane, accepted_at, seq)
 WHERE state IN ('ready', 'waiting');

CREATE TABLE attempt (
    lane     INTEGER NOT NULL,
    id       TEXT NOT NULL,
    message  INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    at       REAL NOT NULL,
    took     REAL NOT NULL,
    url      TEXT NOT NULL,
    status   INTEGER,
    kind     TEXT,
    detail   TEXT NOT NULL,
    body     BLOB NOT NULL,
    "trigger" TEXT NOT NULL,
    counted  INTEGER NOT NULL,
    policy   TEXT NOT NULL,
    now      REAL NOT NULL,
    draw     REAL NOT NULL,
    decision TEXT NOT NULL,
    PRIMARY KEY (lane, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempt_message ON attempt (message, id);

CREATE TABLE resend (
    lane    INTEGER NOT NULL,
    id      TEXT NOT NULL,
    message INTEGER NOT NULL,
    PRIMARY KEY (lane, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX resend_message ON resend (message);

CREATE TABLE task (
    id          TEXT PRIMARY KEY,
    application TEXT NOT NULL,
    shard       INTEGER NOT NULL,
    created_at  REAL NOT NULL,
    finished_at REAL,
    document    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX task_application ON task (application, created_at, id);
CREATE INDEX task_finished ON task (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX task_open ON task (shard, created_at, id) WHERE finished_at IS NULL;

CREATE TABLE notice (
    id       TEXT PRIMARY KEY,
    at       REAL NOT NULL,
    document TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX notice_at ON notice (at);

CREATE TABLE origin (
    origin TEXT PRIMARY KEY,
    known  BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE policy (
    version  TEXT PRIMARY KEY,
    document TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The owners of shards. `worker` is NULL while a shard is free. `clean` says that it was free when
-- the owner took it.
CREATE TABLE shard (
    number INTEGER PRIMARY KEY,
    epoch  INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    until  REAL NOT NULL DEFAULT 0,
    clean  INTEGER NOT NULL DEFAULT 1
) STRICT;

INSERT INTO shard (number)
WITH RECURSIVE counted (number) AS (
    SELECT 0 UNION ALL SELECT number + 1 FROM counted WHERE number < 63
)
SELECT number FROM counted;

CREATE TABLE worker (
    id    TEXT PRIMARY KEY,
    until REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- For checks whether the database can be written to.
CREATE TABLE checkup (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    times INTEGER NOT NULL
) STRICT;

INSERT INTO checkup VALUES (1, 0);

PRAGMA application_id = 1952543346;  -- "tarr"
PRAGMA user_version = 1;

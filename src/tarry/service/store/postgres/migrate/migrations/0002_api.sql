-- Data of the HTTP API: event types, keys to the API, claims of requests. Also which notices were
-- sent; the environments, filters and results of tasks; and when a probe of an endpoint was
-- requested.

INSERT INTO tarry.migration (number, name) VALUES (2, 'api');

CREATE TABLE tarry.event_type (
    environment   text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    description   text NOT NULL,
    archived      boolean NOT NULL,
    deprecated    boolean NOT NULL,
    schemas       text,
    feature_flags text[] NOT NULL,
    "group"       text,
    validates     boolean NOT NULL,
    created_at    double precision NOT NULL,
    updated_at    double precision NOT NULL,
    PRIMARY KEY (environment, name)
);
CREATE INDEX event_type_listed ON tarry.event_type (environment, name) WHERE NOT archived;

-- `ends_at` is when it expires or was revoked, whichever came first.
CREATE TABLE tarry.api_key (
    id            text COLLATE "C" PRIMARY KEY,
    environment   text COLLATE "C" NOT NULL,
    hash          bytea NOT NULL UNIQUE,
    name          text NOT NULL,
    scopes        text[] NOT NULL,
    application   text COLLATE "C",
    session       text,
    feature_flags text[] NOT NULL,
    created_at    double precision NOT NULL,
    expires_at    double precision,
    revoked_at    double precision,
    ends_at       double precision GENERATED ALWAYS AS (least(expires_at, revoked_at)) STORED
);
CREATE INDEX api_key_listed ON tarry.api_key (environment, id) WHERE application IS NULL;
CREATE INDEX api_key_of_application ON tarry.api_key (application)
    WHERE application IS NOT NULL;
CREATE INDEX api_key_ended ON tarry.api_key (ends_at) WHERE application IS NOT NULL;

-- Secrets of the service itself, sealed.
CREATE TABLE tarry.kept (
    name  text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);

CREATE TABLE tarry.claim (
    environment text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    at          double precision NOT NULL,
    holder      text COLLATE "C" NOT NULL,
    until       double precision NOT NULL,
    status      integer,
    body        bytea NOT NULL,
    PRIMARY KEY (environment, key)
) WITH (fillfactor = 70);
CREATE INDEX claim_kept ON tarry.claim (at);

ALTER TABLE tarry.endpoint ADD COLUMN probed_at double precision;

-- Old notices are not sent.
ALTER TABLE tarry.notice ADD COLUMN told boolean NOT NULL DEFAULT true;
ALTER TABLE tarry.notice ALTER COLUMN told SET DEFAULT false;
CREATE INDEX notice_untold ON tarry.notice (id) WHERE NOT told;

ALTER TABLE tarry.task ADD COLUMN environment text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE tarry.task ADD COLUMN wanted json;
ALTER TABLE tarry.task ADD COLUMN data json NOT NULL DEFAULT '{}';
ALTER TABLE tarry.task ADD COLUMN failed text;
UPDATE tarry.task AS t SET environment = a.environment
  FROM tarry.application AS a WHERE a.id = t.application;
CREATE INDEX task_of_environment ON tarry.task (environment, id);

-- Beside `delivery_ready` and `delivery_stuck`: now every state but delivered has an index.
CREATE INDEX delivery_dropped ON tarry.delivery (lane, seq)
    WHERE state IN ('skipped', 'cancelled', 'discarded');

-- What is kept for those who come over HTTP.

-- name: add_event_type
-- Add an event type.
INSERT INTO event_type (environment, name, archived, document)
VALUES (:environment, :name, :archived, :document);

-- name: change_event_type
-- Change an event type.
UPDATE event_type
   SET archived = :archived, document = :document
 WHERE environment = :environment AND name = :name;

-- name: delete_event_type
-- Forget an event type.
DELETE FROM event_type WHERE environment = :environment AND name = :name RETURNING name;

-- name: event_type
-- An event type by its name.
SELECT document FROM event_type WHERE environment = :environment AND name = :name;

-- name: list_event_types
-- Event types that are not archived, by name, behind one.
SELECT document
  FROM event_type INDEXED BY event_type_listed
 WHERE environment = :environment AND name > :mark AND NOT archived
 ORDER BY name
 LIMIT :limit;

-- name: list_event_types_down
-- The same before one, the last first.
SELECT document
  FROM event_type INDEXED BY event_type_listed
 WHERE environment = :environment AND name < :mark AND NOT archived
 ORDER BY name DESC
 LIMIT :limit;

-- name: list_event_types_all
-- All event types by name, behind one.
SELECT document
  FROM event_type
 WHERE environment = :environment AND name > :mark
 ORDER BY name
 LIMIT :limit;

-- name: list_event_types_all_down
-- The same before one, the last first.
SELECT document
  FROM event_type
 WHERE environment = :environment AND name < :mark
 ORDER BY name DESC
 LIMIT :limit;

-- name: add_key_new
-- Keep a new key.
INSERT INTO api_key (id, environment, hash, application, session, ends_at, document)
VALUES (:id, :environment, :hash, :application, :session, :ends_at, :document);

-- name: key
-- A key by its hash.
SELECT document FROM api_key WHERE hash = :hash;

-- name: revoke_key
-- Keep a key as it is after it was revoked.
UPDATE api_key SET ends_at = :ends_at, document = :document WHERE id = :id;

-- name: revoke_key_known
-- A key by its id.
SELECT document FROM api_key WHERE id = :id;

-- name: revoke_keys_of
-- The keys to an application.
SELECT document
  FROM api_key INDEXED BY api_key_application
 WHERE application = :application;

-- name: list_keys
-- The keys to an environment, behind one.
SELECT document
  FROM api_key INDEXED BY api_key_listed
 WHERE environment = :environment AND id > :mark AND application IS NULL
 ORDER BY id
 LIMIT :limit;

-- name: list_keys_down
-- The same before one, the last first.
SELECT document
  FROM api_key INDEXED BY api_key_listed
 WHERE environment = :environment AND id < :mark AND application IS NULL
 ORDER BY id DESC
 LIMIT :limit;

-- name: claim
-- Claim a key that is free, or one whose holder's time is up, for the same request.
INSERT INTO claim (environment, key, fingerprint, at, holder, until, body)
VALUES (:environment, :key, :fingerprint, :at, :holder, :until, x'')
    ON CONFLICT (environment, key) DO UPDATE
   SET holder = excluded.holder, until = excluded.until
 WHERE status IS NULL AND until <= :now AND fingerprint = excluded.fingerprint;

-- name: claim_known
-- How a claim stands.
SELECT environment, key, fingerprint, at, holder, until, status, body
  FROM claim
 WHERE environment = :environment AND key = :key;

-- name: answer
-- Keep the answer of a claim that its holder still has.
UPDATE claim
   SET status = :status, body = :body
 WHERE environment = :environment AND key = :key AND holder = :holder AND status IS NULL;

-- name: release_claim
-- Forget a claim that its holder still has.
DELETE FROM claim
 WHERE environment = :environment AND key = :key AND holder = :holder AND status IS NULL;

-- name: lapse_claim
-- Let a claim that its holder still has pass to the next one who comes.
UPDATE claim
   SET until = 0
 WHERE environment = :environment AND key = :key AND holder = :holder AND status IS NULL;

-- name: untold
-- Notices that nobody was told of yet, behind one.
SELECT document
  FROM notice INDEXED BY notice_untold
 WHERE NOT told AND id > :after
 ORDER BY id
 LIMIT :limit;

-- name: told
-- Somebody was told of this.
UPDATE notice SET told = 1 WHERE id = :notice AND NOT told;

-- name: keep
-- Keep a value, unless there is one.
INSERT INTO kept (name, value) VALUES (:name, :value) ON CONFLICT DO NOTHING;

-- name: keep_known
-- What is kept under a name.
SELECT value FROM kept WHERE name = :name;

-- name: keep_instead
-- Keep a value in the place of another one.
UPDATE kept SET value = :value WHERE name = :name AND value = :of RETURNING name;

-- Data of the HTTP API.

-- name: create_event_type
-- Add an event type.
INSERT INTO event_type (environment, name, archived, document)
VALUES (:environment, :name, :archived, :document);

-- name: change_event_type
-- Change an event type.
UPDATE event_type
   SET archived = :archived, document = :document
 WHERE environment = :environment AND name = :name;

-- name: delete_event_type
-- Delete an event type.
DELETE FROM event_type WHERE environment = :environment AND name = :name RETURNING name;

-- name: get_event_type
-- An event type by its name.
SELECT document FROM event_type WHERE environment = :environment AND name = :name;

-- name: page_event_types
-- Event types that are not archived, by name, after one.
SELECT document
  FROM event_type INDEXED BY event_type_listed
 WHERE environment = :environment AND name > :mark AND NOT archived
 ORDER BY name
 LIMIT :limit;

-- name: page_event_types_down
-- The same before one, in descending order.
SELECT document
  FROM event_type INDEXED BY event_type_listed
 WHERE environment = :environment AND name < :mark AND NOT archived
 ORDER BY name DESC
 LIMIT :limit;

-- name: page_event_types_all
-- All event types by name, after one.
SELECT document
  FROM event_type
 WHERE environment = :environment AND name > :mark
 ORDER BY name
 LIMIT :limit;

-- name: page_event_types_all_down
-- The same before one, in descending order.
SELECT document
  FROM event_type
 WHERE environment = :environment AND name < :mark
 ORDER BY name DESC
 LIMIT :limit;

-- name: create_key
-- Add a new key.
INSERT INTO api_key (id, environment, hash, application, session, ends_at, document)
VALUES (:id, :environment, :hash, :application, :session, :ends_at, :document);

-- name: key
-- A key by its hash, unless its application was deleted.
SELECT document
  FROM api_key
 WHERE hash = :hash
   AND NOT EXISTS (SELECT 1 FROM application
                    WHERE id = api_key.application AND deleted_at IS NOT NULL);

-- name: change_key
-- Save a key after it was revoked.
UPDATE api_key SET ends_at = :ends_at, document = :document WHERE id = :id;

-- name: change_key_known
-- A key by its id.
SELECT document FROM api_key WHERE id = :id;

-- name: revoke_keys
-- The keys to an application.
SELECT document
  FROM api_key INDEXED BY api_key_application
 WHERE application = :application;

-- name: page_keys
-- The keys to an environment, after one.
SELECT document
  FROM api_key INDEXED BY api_key_listed
 WHERE environment = :environment AND id > :mark AND application IS NULL
 ORDER BY id
 LIMIT :limit;

-- name: page_keys_down
-- The same before one, in descending order.
SELECT document
  FROM api_key INDEXED BY api_key_listed
 WHERE environment = :environment AND id < :mark AND application IS NULL
 ORDER BY id DESC
 LIMIT :limit;

-- name: claim
-- Claim a key that is free, or whose holder's time is up if it is for the same request.
INSERT INTO claim (environment, key, fingerprint, at, holder, until, body)
VALUES (:environment, :key, :fingerprint, :at, :holder, :until, x'')
    ON CONFLICT (environment, key) DO UPDATE
   SET holder = excluded.holder, until = excluded.until
 WHERE status IS NULL AND until <= :now AND fingerprint = excluded.fingerprint;

-- name: claim_known
-- A claim as it is stored.
SELECT environment, key, fingerprint, at, holder, until, status, body
  FROM claim
 WHERE environment = :environment AND key = :key;

-- name: end_claim_answered
-- Save the answer of a claim that its holder still has.
UPDATE claim
   SET status = :status, body = :body
 WHERE environment = :environment AND key = :key AND holder = :holder AND status IS NULL;

-- name: end_claim_released
-- Delete a claim that its holder still has.
DELETE FROM claim
 WHERE environment = :environment AND key = :key AND holder = :holder AND status IS NULL;

-- name: end_claim_lapsed
-- End the time of a claim that its holder still has, so that the next caller can take it over.
UPDATE claim
   SET until = 0
 WHERE environment = :environment AND key = :key AND holder = :holder AND status IS NULL;

-- name: read_unsent_notices
-- Notices that were not sent yet, after one.
SELECT document
  FROM notice INDEXED BY notice_untold
 WHERE NOT told AND id > :after
 ORDER BY id
 LIMIT :limit;

-- name: mark_sent
-- Mark a notice as sent.
UPDATE notice SET told = 1 WHERE id = :notice AND NOT told;

-- name: keep
-- Save a value under a name, unless there is one.
INSERT INTO kept (name, value) VALUES (:name, :value) ON CONFLICT DO NOTHING;

-- name: keep_known
-- The value under a name.
SELECT value FROM kept WHERE name = :name;

-- name: keep_instead
-- Replace a value by another one.
UPDATE kept SET value = :value WHERE name = :name AND value = :of;

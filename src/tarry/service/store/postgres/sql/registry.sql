-- name: create_event_type
-- Add an event type, unless it exists.
INSERT INTO tarry.event_type (environment, name, description, archived, deprecated, schemas,
                              feature_flags, "group", validates, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (environment, name) DO NOTHING
RETURNING name;

-- name: change_event_type_known
-- An event type as it is stored, locked until the commit.
SELECT * FROM tarry.event_type WHERE environment = $1 AND name = $2 FOR UPDATE;

-- name: change_event_type
-- Change an event type.
UPDATE tarry.event_type
   SET description = $3, archived = $4, deprecated = $5, schemas = $6, feature_flags = $7,
       "group" = $8, validates = $9, created_at = $10, updated_at = $11
 WHERE environment = $1 AND name = $2;

-- name: delete_event_type
-- Delete an event type.
DELETE FROM tarry.event_type WHERE environment = $1 AND name = $2 RETURNING name;

-- name: get_event_type
-- An event type by its name.
SELECT * FROM tarry.event_type WHERE environment = $1 AND name = $2;

-- name: page_event_types
-- Event types that are not archived, by name, after one. It ends with the first one whose schemas,
-- with those before it, have more bytes than a page may have.
SELECT *
  FROM (SELECT *, sum(octet_length(coalesce(schemas, ''))) OVER way AS bytes,
               row_number() OVER way AS number
          FROM tarry.event_type
         WHERE environment = $1 AND name > $2 AND NOT archived
        WINDOW way AS (ORDER BY name)
         ORDER BY name
         LIMIT $3) AS listed
 WHERE $4::bigint IS NULL OR number <= 2 OR bytes - octet_length(coalesce(schemas, '')) <= $4
 ORDER BY name;

-- name: page_event_types_down
-- The same before one, in descending order.
SELECT *
  FROM (SELECT *, sum(octet_length(coalesce(schemas, ''))) OVER way AS bytes,
               row_number() OVER way AS number
          FROM tarry.event_type
         WHERE environment = $1 AND name < $2 AND NOT archived
        WINDOW way AS (ORDER BY name DESC)
         ORDER BY name DESC
         LIMIT $3) AS listed
 WHERE $4::bigint IS NULL OR number <= 2 OR bytes - octet_length(coalesce(schemas, '')) <= $4
 ORDER BY name DESC;

-- name: page_event_types_all
-- All event types by name, after one; it ends likewise.
SELECT *
  FROM (SELECT *, sum(octet_length(coalesce(schemas, ''))) OVER way AS bytes,
               row_number() OVER way AS number
          FROM tarry.event_type
         WHERE environment = $1 AND name > $2
        WINDOW way AS (ORDER BY name)
         ORDER BY name
         LIMIT $3) AS listed
 WHERE $4::bigint IS NULL OR number <= 2 OR bytes - octet_length(coalesce(schemas, '')) <= $4
 ORDER BY name;

-- name: page_event_types_all_down
-- The same before one, in descending order.
SELECT *
  FROM (SELECT *, sum(octet_length(coalesce(schemas, ''))) OVER way AS bytes,
               row_number() OVER way AS number
          FROM tarry.event_type
         WHERE environment = $1 AND name < $2
        WINDOW way AS (ORDER BY name DESC)
         ORDER BY name DESC
         LIMIT $3) AS listed
 WHERE $4::bigint IS NULL OR number <= 2 OR bytes - octet_length(coalesce(schemas, '')) <= $4
 ORDER BY name DESC;

-- name: create_key
-- Add a new key, unless it exists.
INSERT INTO tarry.api_key (id, environment, hash, name, scopes, application, session, feature_flags,
                           created_at, expires_at, revoked_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT DO NOTHING
RETURNING id;

-- name: key
-- A key by its hash, unless its application was deleted.
SELECT *
  FROM tarry.api_key AS k
 WHERE k.hash = $1
   AND NOT EXISTS (SELECT FROM tarry.application AS a
                    WHERE a.id = k.application AND a.deleted_at IS NOT NULL);

-- name: change_key_known
-- A key by its id, locked until the commit.
SELECT * FROM tarry.api_key WHERE environment = $1 AND id = $2 FOR NO KEY UPDATE;

-- name: change_key
-- Save when a key expires or was revoked.
UPDATE tarry.api_key SET expires_at = $2, revoked_at = $3 WHERE id = $1;

-- name: revoke_keys
-- Revoke the keys to an application, all or those of some sessions, or have them expire.
UPDATE tarry.api_key SET revoked_at = $3, expires_at = least(expires_at, $4)
 WHERE application = $1 AND ($2::text[] IS NULL OR session = ANY($2)) AND revoked_at IS NULL
RETURNING id;

-- name: page_keys
-- The keys to an environment, after one.
SELECT * FROM tarry.api_key
 WHERE environment = $1 AND id > $2 AND application IS NULL
 ORDER BY id
 LIMIT $3;

-- name: page_keys_down
-- The same before one, in descending order.
SELECT * FROM tarry.api_key
 WHERE environment = $1 AND id < $2 AND application IS NULL
 ORDER BY id DESC
 LIMIT $3;

-- name: claim
-- Claim a key that is free, or whose holder's time is up if it is for the same request. Of several
-- callers at once, one inserts it, and the others wait for its commit and then find it taken. A
-- caller that sees the taken key at first locks nothing, and has no commit to wait for.
INSERT INTO tarry.claim AS c (environment, key, fingerprint, at, holder, until, body)
SELECT $1, $2, $3, $4, $5, $6, ''
 WHERE NOT EXISTS (SELECT FROM tarry.claim AS k
                    WHERE k.environment = $1 AND k.key = $2
                      AND (k.status IS NOT NULL OR k.until > $7 OR k.fingerprint <> $3))
    ON CONFLICT (environment, key) DO UPDATE
   SET holder = excluded.holder, until = excluded.until
 WHERE c.status IS NULL AND c.until <= $7 AND c.fingerprint = excluded.fingerprint
RETURNING *;

-- name: claim_known
-- A claim as it is stored.
SELECT * FROM tarry.claim WHERE environment = $1 AND key = $2;

-- name: end_claim_answered
-- Save the answer of a claim that its holder still has.
UPDATE tarry.claim SET status = $4, body = $5
 WHERE environment = $1 AND key = $2 AND holder = $3 AND status IS NULL;

-- name: end_claim_released
-- Delete a claim that its holder still has.
DELETE FROM tarry.claim
 WHERE environment = $1 AND key = $2 AND holder = $3 AND status IS NULL;

-- name: end_claim_lapsed
-- End the time of a claim that its holder still has, so that the next caller can take it over.
UPDATE tarry.claim SET until = 0
 WHERE environment = $1 AND key = $2 AND holder = $3 AND status IS NULL;

-- name: read_unsent_notices
-- Notices that were not sent yet, after one.
SELECT * FROM tarry.notice WHERE NOT told AND id > $1 ORDER BY id LIMIT $2;

-- name: mark_sent
-- Mark notices as sent.
UPDATE tarry.notice SET told = true WHERE id = ANY($1::text[]) AND NOT told;

-- name: keep
-- Save a value under a name, unless there is one.
INSERT INTO tarry.kept (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: keep_known
-- The value under a name.
SELECT value FROM tarry.kept WHERE name = $1;

-- name: keep_instead
-- Replace a value by another one.
UPDATE tarry.kept SET value = $2 WHERE name = $1 AND value = $3;

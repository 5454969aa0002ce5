-- Data keys: each seals the stored payloads and responses of one application.

-- name: add_data_keys
-- Those of some data keys that exist.
SELECT id FROM data_key WHERE id IN (SELECT value FROM json_each(:keys));

-- name: create_data_key
-- Save an application's first data key.
INSERT INTO data_key (id, application, sealed, created_at)
VALUES (:id, :application, :sealed, :created_at)
    ON CONFLICT DO NOTHING
RETURNING id;

-- name: read_data_keys
-- The data keys with some ids, and those of some applications.
SELECT id, application, sealed, created_at
  FROM data_key
 WHERE id IN (SELECT value FROM json_each(:names))
    OR application IN (SELECT value FROM json_each(:names));

-- name: read_data_keys_all
-- All data keys, after one.
SELECT id, application, sealed, created_at
  FROM data_key
 WHERE id > :after
 ORDER BY id
 LIMIT :limit;

-- name: change_data_key
-- Replace a data key by the same one, sealed with another key of the service.
UPDATE data_key SET sealed = :sealed WHERE id = :id;

-- name: erase_data_key
-- Delete an application's data key.
DELETE FROM data_key WHERE application = :application RETURNING id;

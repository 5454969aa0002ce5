-- name: add_data_keys
-- Those of some data keys that exist, locked in order: they cannot be erased before the commit.
SELECT id FROM tarry.data_key WHERE id = ANY($1::text[]) ORDER BY id FOR KEY SHARE;

-- name: create_data_key_application
-- Whether an application exists, locked so that it is not deleted before the commit.
SELECT id FROM tarry.application WHERE id = $1 AND deleted_at IS NULL FOR SHARE;

-- name: create_data_key
-- Save an application's first data key.
INSERT INTO tarry.data_key (id, application, sealed, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING
RETURNING id;

-- name: read_data_keys
-- The data keys with some ids, and those of some applications.
SELECT * FROM tarry.data_key WHERE id = ANY($1::text[]) OR application = ANY($1::text[]);

-- name: read_data_keys_all
-- All data keys, after one.
SELECT * FROM tarry.data_key WHERE id > $1 ORDER BY id LIMIT $2;

-- name: change_data_key_known
-- A data key, locked until the commit.
SELECT * FROM tarry.data_key WHERE id = $1 FOR NO KEY UPDATE;

-- name: change_data_key
-- Replace a data key by the same one, sealed with another key of the service.
UPDATE tarry.data_key SET sealed = $2 WHERE id = $1;

-- name: erase_data_key
-- Delete an application's data key.
DELETE FROM tarry.data_key WHERE application = $1 RETURNING id;

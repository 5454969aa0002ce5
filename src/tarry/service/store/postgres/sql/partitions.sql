-- name: sweep_partitions
-- The partitions of a table except the default one, in order, with their sizes.
SELECT c.relname AS name, bounds[1] AS since, bounds[2] AS until,
       coalesce(pg_table_size(c.oid), 0) AS bytes
  FROM pg_inherits AS i
  JOIN pg_class AS c ON c.oid = i.inhrelid
 CROSS JOIN regexp_match(pg_get_expr(c.relpartbound, c.oid),
                         'FROM \(''([^'']*)''\) TO \(''([^'']*)''\)') AS bounds
 WHERE i.inhparent = to_regclass('tarry.' || $1) AND bounds IS NOT NULL
 ORDER BY bounds[1] COLLATE "C";

-- name: sweep_default
-- The size of a table's default partition.
SELECT pg_table_size(to_regclass('tarry.' || $1 || '_default')) AS bytes;

-- name: sweep_turn
-- Allow one process at a time to create partitions.
SELECT pg_try_advisory_xact_lock(hashtext('tarry.partitions')) AS ours;

-- name: sweep_leaving
-- The leaving partition; the next one can start to leave only after this transaction has ended.
SELECT since, until FROM tarry.leaving FOR KEY SHARE;

-- name: sweep_leaving_there
-- Whether a partition is leaving.
SELECT since FROM tarry.leaving;

-- name: sweep_leaving_walked
-- The leaving partition with its progress, locked: one process at a time.
SELECT since, until, before, cursor, kept FROM tarry.leaving FOR NO KEY UPDATE SKIP LOCKED;

-- name: sweep_leaving_lock
-- Wait for transactions that make deliveries live again.
LOCK TABLE tarry.leaving IN EXCLUSIVE MODE;

-- name: sweep_leaving_begin
-- Mark a partition as leaving, if none is.
INSERT INTO tarry.leaving (since, until, before, cursor)
SELECT $1, $2, $3, '' WHERE NOT EXISTS (SELECT FROM tarry.leaving)
RETURNING since;

-- name: sweep_leaving_watched
-- Whether a partition has the trigger that notes late inserts.
SELECT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname = 'keep_late')
    AS watched;

-- name: sweep_leaving_attempts
-- Delete those attempts of messages that are in the default partition, which is never dropped.
DELETE FROM tarry.attempt_default WHERE message = ANY($1::text[]);

-- name: sweep_leaving_noted
-- Save the progress, and the messages to keep.
UPDATE tarry.leaving SET cursor = $1, kept = kept || $2::text[];

-- name: sweep_leaving_end
-- Mark no partition as leaving.
DELETE FROM tarry.leaving;

-- name: sweep_leaving_older
-- Messages accepted before an instant.
SELECT id FROM tarry.message WHERE accepted_at < $1 LIMIT $2;

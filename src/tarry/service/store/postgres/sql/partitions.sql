-- name: sweep_partitions
-- The partitions of a table but for the default one, in order, and how large they are.
SELECT c.relname AS name, bounds[1] AS since, bounds[2] AS until,
       coalesce(pg_table_size(c.oid), 0) AS bytes
  FROM pg_inherits AS i
  JOIN pg_class AS c ON c.oid = i.inhrelid
 CROSS JOIN regexp_match(pg_get_expr(c.relpartbound, c.oid),
                         'FROM \(''([^'']*)''\) TO \(''([^'']*)''\)') AS bounds
 WHERE i.inhparent = to_regclass('tarry.' || $1) AND bounds IS NOT NULL
 ORDER BY bounds[1] COLLATE "C";

-- name: sweep_default
-- How large what belongs to no partition of a table is.
SELECT pg_table_size(to_regclass('tarry.' || $1 || '_default')) AS bytes;

-- name: sweep_turn
-- One process makes partitions at a time.
SELECT pg_try_advisory_xact_lock(hashtext('tarry.partitions')) AS ours;

-- name: sweep_leaving
-- The partition that is about to go; whoever begins with another waits until this has ended.
SELECT since, until FROM tarry.leaving FOR KEY SHARE;

-- name: sweep_leaving_there
-- Whether a partition is about to go.
SELECT since FROM tarry.leaving;

-- name: sweep_leaving_walked
-- The same, to go on with it: one process at a time.
SELECT since, until, before, cursor, kept FROM tarry.leaving FOR NO KEY UPDATE SKIP LOCKED;

-- name: sweep_leaving_lock
-- Wait for those who are just bringing something back.
LOCK TABLE tarry.leaving IN EXCLUSIVE MODE;

-- name: sweep_leaving_begin
-- Let a partition leave, if none does.
INSERT INTO tarry.leaving (since, until, before, cursor)
SELECT $1, $2, $3, '' WHERE NOT EXISTS (SELECT FROM tarry.leaving)
RETURNING since;

-- name: sweep_leaving_watched
-- Whether what comes into a partition is noticed.
SELECT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname = 'keep_late')
    AS watched;

-- name: sweep_leaving_attempts
-- Forget those attempts of messages that are in no partition which will go by itself.
DELETE FROM tarry.attempt_default WHERE message = ANY($1::text[]);

-- name: sweep_leaving_noted
-- Note how far it came, and what has to be kept.
UPDATE tarry.leaving SET cursor = $1, kept = kept || $2::text[];

-- name: sweep_leaving_end
-- No partition is leaving any more.
DELETE FROM tarry.leaving;

-- name: sweep_leaving_older
-- Messages that are older than an instant and still there.
SELECT id FROM tarry.message WHERE accepted_at < $1 LIMIT $2;

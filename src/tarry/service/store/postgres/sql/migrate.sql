-- name: status_known
-- Whether there is a schema of ours.
SELECT to_regclass('tarry.migration') IS NOT NULL AS known;

-- name: up_turn
-- Let nobody else change the schema until the commit, if nobody does.
SELECT pg_try_advisory_xact_lock(7234312341) AS ours;

-- name: up_lock
-- The same, once whoever does has ended.
SELECT pg_advisory_xact_lock(7234312341);

-- name: up_patience
-- Whatever the limits of the database or the role are, a step takes as long as it takes.
SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true);

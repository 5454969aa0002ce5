-- name: status_known
-- Whether the schema exists.
SELECT to_regclass('tarry.migration') IS NOT NULL AS known;

-- name: up_turn
-- Lock the schema against other migrations until the commit, if no other migration runs.
SELECT pg_try_advisory_xact_lock(7234312341) AS ours;

-- name: up_lock
-- The same, after waiting for the other migration.
SELECT pg_advisory_xact_lock(7234312341);

-- name: up_patience
-- Remove the time limits of the database or the role: a step may take long.
SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true);

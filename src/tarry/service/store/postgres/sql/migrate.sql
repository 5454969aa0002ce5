-- name: status_known
-- Whether there is a schema of ours.
SELECT to_regclass('tarry.migration') IS NOT NULL AS known;

-- name: up_lock
-- Let nobody else change the schema until the commit.
SELECT pg_advisory_xact_lock(7234312341);

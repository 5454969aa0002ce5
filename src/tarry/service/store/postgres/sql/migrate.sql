-- name: status_known
-- Whether there is a schema of ours.
SELECT to_regclass('tarry.migration') IS NOT NULL AS known;

-- name: up_lock
-- Let nobody else change the schema until the commit.
SELECT pg_advisory_xact_lock(7234312341);

-- name: up_begin
-- Make the schema, and the table of the steps that were made.
DO $$ BEGIN
    CREATE SCHEMA IF NOT EXISTS tarry;
    CREATE TABLE tarry.migration (
        number  bigint PRIMARY KEY,
        name    text NOT NULL,
        made_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
END $$;

-- name: up_noted
-- Note that a step was made.
INSERT INTO tarry.migration (number, name) VALUES ($1, $2);

-- The audit trail.

-- name: change_entry
-- Write an entry, unless the same request wrote it before.
INSERT INTO tarry.audit (id, environment, application, at, actor, key, operation, address,
                         target_kind, target, changes)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT DO NOTHING;

-- name: page_audit
-- Entries of an environment, and whether each fits the filter.
SELECT id AS key, id AS mark,
       ($5::text IS NULL OR application IS NOT DISTINCT FROM $5)
       AND ($6::text IS NULL OR actor = $6 OR key IS NOT DISTINCT FROM $6)
       AND ($7::text IS NULL OR operation = $7)
       AND ($8::text IS NULL OR target = $8) AS fits,
       0 AS size
  FROM tarry.audit
 WHERE environment = $1 AND id > $2 AND id < $3
 ORDER BY id
 LIMIT $4;

-- name: page_audit_found
-- Entries by id.
SELECT * FROM tarry.audit WHERE id = ANY($1::text[]);

-- name: sweep_audit
-- Delete old entries.
DELETE FROM tarry.audit
 WHERE id = ANY(ARRAY(SELECT id FROM tarry.audit WHERE at < $1 ORDER BY at LIMIT $2
                         FOR UPDATE SKIP LOCKED))
RETURNING id;

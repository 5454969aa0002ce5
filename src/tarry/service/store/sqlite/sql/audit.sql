-- The audit trail.

-- name: change_entry
-- Write an entry, unless the same request wrote it before.
INSERT INTO audit (id, environment, application, at, actor, key, operation, target, document)
VALUES (:id, :environment, :application, :at, :actor, :key, :operation, :target, :document)
    ON CONFLICT DO NOTHING;

-- name: page_audit
-- Entries of an environment, and whether each fits the filter.
SELECT id,
       (:application IS NULL OR application IS :application)
       AND (:actor IS NULL OR actor = :actor OR key IS :actor)
       AND (:operation IS NULL OR operation = :operation)
       AND (:target IS NULL OR target = :target),
       0,
       document
  FROM audit INDEXED BY audit_environment
 WHERE environment = :environment AND id > :low AND id < :high
 ORDER BY id
 LIMIT :limit;

-- name: sweep_audit
-- Delete entries from before a time.
DELETE FROM audit
 WHERE id IN (SELECT id FROM audit INDEXED BY audit_at
               WHERE at < :before ORDER BY at LIMIT :limit);

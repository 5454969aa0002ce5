-- name: collect
-- What callers put on record, the oldest first; what another process is just taking is left alone.
WITH taken AS (
    DELETE FROM tarry.outbox
     WHERE id = ANY(ARRAY(SELECT id FROM tarry.outbox ORDER BY created_at, id LIMIT $1
                             FOR UPDATE SKIP LOCKED))
    RETURNING *
)
SELECT * FROM taken ORDER BY created_at, id;

-- name: collect_refused
-- Keep what cannot be accepted, and why.
INSERT INTO tarry.outbox_refused (id, application, event_type, payload, event_id, channels, tags,
                                  deliver_at, created_at, why, refused_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: collect_used
-- Which of these ids belong to messages already.
SELECT id FROM tarry.message WHERE id = ANY($1::text[]);

-- name: collect_put
-- Put a message on record, in whatever transaction this runs in.
INSERT INTO tarry.outbox (id, application, event_type, payload, event_id, channels, tags,
                          deliver_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

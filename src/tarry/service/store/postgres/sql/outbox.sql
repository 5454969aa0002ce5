-- name: collect_turn
-- Applications with messages in the outbox, after one, each found by one index lookup.
WITH RECURSIVE waiting AS (
    (SELECT application, 1 AS place FROM tarry.outbox
      WHERE application > $1 ORDER BY application LIMIT 1)
    UNION ALL
    SELECT next.application, w.place + 1
      FROM waiting AS w
     CROSS JOIN LATERAL (SELECT o.application FROM tarry.outbox AS o
                          WHERE o.application > w.application ORDER BY o.application LIMIT 1) AS next
     WHERE w.place < $2::bigint
)
SELECT application FROM waiting;

-- name: collect
-- Take the first messages of applications out of the outbox. If another process has locked a
-- message to collect it, that message stays with all after it: otherwise these could be accepted
-- before it.
WITH first AS (
    SELECT o.application, o.number
      FROM unnest($1::text[]) AS asked (application)
     CROSS JOIN LATERAL (SELECT o.application, o.number FROM tarry.outbox AS o
                          WHERE o.application = asked.application
                          ORDER BY o.number LIMIT $2) AS o
), held AS (
    SELECT o.application, o.number
      FROM first AS f
      JOIN tarry.outbox AS o ON o.application = f.application AND o.number = f.number
       FOR UPDATE OF o SKIP LOCKED
), stays AS (
    SELECT application, min(number) AS number
      FROM (SELECT * FROM first EXCEPT SELECT * FROM held) AS locked
     GROUP BY application
), taken AS (
    DELETE FROM tarry.outbox AS o
     USING held AS h LEFT JOIN stays AS s ON s.application = h.application
     WHERE o.application = h.application AND o.number = h.number
       AND h.number < coalesce(s.number, 9223372036854775807)
    RETURNING o.*
)
SELECT id, application, event_type, payload, event_id, channels, tags, deliver_at, created_at
  FROM taken
 ORDER BY number;

-- name: collect_refused
-- Save messages that cannot be accepted, with the reasons.
INSERT INTO tarry.outbox_refused (id, application, event_type, payload, event_id, channels, tags,
                                  deliver_at, created_at, why, refused_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: collect_used
-- Those of these ids that messages have already.
SELECT id FROM tarry.message WHERE id = ANY($1::text[]);

-- name: collect_put
-- Add a message to the outbox, in the caller's transaction.
INSERT INTO tarry.outbox (id, application, event_type, payload, event_id, channels, tags,
                          deliver_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

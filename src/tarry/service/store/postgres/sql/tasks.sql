-- name: add_task
-- Put a task on record.
INSERT INTO tarry.task (id, work, environment, application, endpoint, lane, since, until, wanted,
                        cursor, done, data, created_at, finished_at, failed, shard)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
    ON CONFLICT (id) DO UPDATE
   SET cursor = excluded.cursor, done = excluded.done, data = excluded.data,
       finished_at = excluded.finished_at, failed = excluded.failed;

-- name: add_task_known
-- The tasks of a lane that are not begun, of some works, the oldest first. Nobody begins them before
-- the commit; those that are being begun are left out.
SELECT * FROM tarry.task
 WHERE lane = $1 AND finished_at IS NULL AND work = ANY($2::text[]) AND cursor = ''
 ORDER BY created_at, id
   FOR UPDATE SKIP LOCKED;

-- name: add_task_pending
-- How many tasks of a lane are not done, of some works.
SELECT count(*) FROM tarry.task
 WHERE lane = $1 AND finished_at IS NULL AND work = ANY($2::text[]);

-- name: get_task
-- A task by its id.
SELECT * FROM tarry.task WHERE id = $1;

-- name: tasks
-- An application's tasks, the newest first.
SELECT * FROM tarry.task WHERE application = $1 ORDER BY created_at DESC, id DESC;

-- name: task
-- The oldest task of the next tenant that has one to be done, of some shards and works.
SELECT * FROM tarry.task
 WHERE shard = ANY($1::integer[]) AND finished_at IS NULL AND work = ANY($2::text[])
   AND (application, environment) > ($3, $4)
 ORDER BY application, environment, created_at, id
 LIMIT 1;

-- name: advance
-- How far a task came, held until the commit.
SELECT * FROM tarry.task WHERE id = $1 FOR UPDATE;

-- name: advance_held
-- Whether nobody has taken a shard or given it back; nobody can before the transaction has ended.
SELECT number FROM tarry.shard
 WHERE number = $1 AND epoch = $2 AND worker = $3
   FOR KEY SHARE;

-- name: advance_noted
-- Note how far a task came now.
UPDATE tarry.task SET cursor = $2, done = $3, data = $4, finished_at = $5, failed = $6
 WHERE id = $1;

-- name: advance_failed
-- Deliveries that wait or failed, behind one; those are concerned that failed, for good or the last
-- time, of a span of time.
SELECT d.seq, d.message,
       (d.state = 'failed' OR d.tries > 0) AND m.accepted_at >= $3 AND m.accepted_at < $4
       AS concerned
  FROM tarry.delivery AS d JOIN tarry.message AS m ON m.id = d.message
 WHERE +d.lane = $1 AND d.state IN ('waiting', 'failed') AND d.seq > $2
 ORDER BY d.seq
 LIMIT $5;

-- name: advance_live
-- Deliveries that are live or failed, behind one; those are concerned that are live, of a span of
-- time. Two indexes are gone along, which what has ended otherwise is not in.
(SELECT d.seq, m.accepted_at >= $3 AND m.accepted_at < $4 AS concerned
   FROM tarry.delivery AS d JOIN tarry.message AS m ON m.id = d.message
  WHERE +d.lane = $1 AND d.state = 'ready' AND d.seq > $2
  ORDER BY d.seq
  LIMIT $5)
 UNION ALL
(SELECT d.seq, d.state = 'waiting' AND m.accepted_at >= $3 AND m.accepted_at < $4
   FROM tarry.delivery AS d JOIN tarry.message AS m ON m.id = d.message
  WHERE +d.lane = $1 AND d.state IN ('waiting', 'failed') AND d.seq > $2
  ORDER BY d.seq
  LIMIT $5)
 ORDER BY seq
 LIMIT $5;

-- name: advance_kept
-- Which of these deliveries are still so, held until the commit.
SELECT seq, state FROM tarry.delivery
 WHERE lane = $1 AND seq = ANY($2::bigint[]) AND state = ANY($3::text[])
 ORDER BY seq
   FOR UPDATE;

-- name: advance_wanted
-- Messages behind one, by when they were accepted, each with its delivery in a lane if it has any,
-- and with the status class of the last attempt there if that is asked for; those may be concerned
-- that have their payload, need not wait for their own time, and went to the endpoint or would.
-- OFFSET 0 has a message's attempts found by the message: from the end of the lane they are far away.
SELECT m.accepted_at, m.id, m.event_type, m.channels, m.tags, d.seq, d.state,
       m.payload IS NOT NULL
       AND coalesce(m.deliver_at <= $7, true)
       AND (d.seq IS NOT NULL
            OR (e.event_types IS NULL OR m.event_type = ANY(e.event_types))
               AND (e.channels IS NULL OR e.channels && m.channels)) AS concerned,
       CASE WHEN $8::boolean THEN
           (SELECT coalesce(a.status, 0) / 100 * 100
              FROM (SELECT * FROM tarry.attempt WHERE message = m.id OFFSET 0) AS a
             WHERE a.lane = $1
             ORDER BY a.id DESC LIMIT 1) END AS status_class
  FROM (SELECT * FROM tarry.message
         WHERE application = $2 AND accepted_at >= $3 AND accepted_at < $5
           AND (accepted_at, id) > ($3, $4)
         ORDER BY accepted_at, id
         LIMIT $6) AS m
  JOIN tarry.endpoint AS e ON e.lane = $1 AND e.application = m.application
  LEFT JOIN LATERAL (
      SELECT p.seq FROM unnest(m.lanes, m.seqs) AS p (lane, seq) WHERE p.lane = $1 LIMIT 1
  ) AS place ON true
  LEFT JOIN tarry.delivery AS d ON d.lane = $1 AND d.seq = place.seq
 ORDER BY m.accepted_at, m.id;

-- name: advance_payloads
-- Messages behind one, by when they were accepted; those are concerned that have their payload.
SELECT accepted_at, id, payload IS NOT NULL AS concerned
  FROM tarry.message
 WHERE application = $1 AND accepted_at >= $2 AND accepted_at < $4
   AND (accepted_at, id) > ($2, $3)
 ORDER BY accepted_at, id
 LIMIT $5;

-- name: advance_expunged
-- Forget the payloads of these messages, locked in order.
WITH held AS (
    SELECT id FROM tarry.message WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE
)
UPDATE tarry.message AS m SET payload = NULL
  FROM held AS h
 WHERE m.id = h.id AND m.payload IS NOT NULL
RETURNING m.id;

-- name: advance_there
-- Which of these messages are still there, held until the commit, and whether they have a delivery in
-- a lane by now: one may have been added by a resend.
SELECT id, $2::bigint = ANY(lanes) AS placed
  FROM tarry.message WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE;

-- name: advance_replayed
-- Make deliveries ready as if they had come now.
UPDATE tarry.delivery
   SET state = 'ready', reason = $3, attempts = 0, memory = NULL, due_at = NULL,
       accepted_at = $4, ended_at = NULL
 WHERE lane = $1 AND seq = ANY($2::bigint[]);

-- name: advance_placed
-- Note where the new deliveries of messages are.
UPDATE tarry.message AS m
   SET lanes = m.lanes || $1::bigint, seqs = m.seqs || new.seq
  FROM unnest($2::text[], $3::bigint[]) AS new (message, seq)
 WHERE m.id = new.message;

-- name: advance_discarded
-- End deliveries of an endpoint that is deleted.
UPDATE tarry.delivery
   SET state = 'discarded', reason = $3, due_at = NULL, ended_at = $4
 WHERE lane = $1 AND seq = ANY($2::bigint[]);

-- name: advance_resends
-- Forget the resends of a lane, in order.
WITH held AS (
    SELECT id FROM tarry.resend WHERE lane = $1 ORDER BY id FOR UPDATE
)
DELETE FROM tarry.resend AS r USING held AS h WHERE r.lane = $1 AND r.id = h.id;

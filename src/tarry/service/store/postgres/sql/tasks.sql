-- part: is_erased
-- Whether a message is sealed with a data key that was erased.
(m.sealed_with IS NOT NULL
        AND NOT EXISTS (SELECT FROM tarry.data_key AS k WHERE k.id = m.sealed_with))

-- name: add_task
-- Save a task.
INSERT INTO tarry.task (id, work, environment, application, endpoint, lane, since, until, wanted,
                        cursor, done, data, created_at, finished_at, failed, shard)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
    ON CONFLICT (id) DO UPDATE
   SET cursor = excluded.cursor, done = excluded.done, data = excluded.data,
       finished_at = excluded.finished_at, failed = excluded.failed;

-- name: add_task_known
-- A lane's tasks of some kinds that have not started, oldest first. They are locked, so that none
-- starts before the commit. Tasks that are just starting are skipped.
SELECT * FROM tarry.task
 WHERE lane = $1 AND finished_at IS NULL AND work = ANY($2::text[]) AND cursor = ''
 ORDER BY created_at, id
   FOR UPDATE SKIP LOCKED;

-- name: add_task_pending
-- How many of a lane's tasks of some kinds are unfinished.
SELECT count(*) FROM tarry.task
 WHERE lane = $1 AND finished_at IS NULL AND work = ANY($2::text[]);

-- name: get_task
-- A task by its id.
SELECT * FROM tarry.task WHERE id = $1;

-- name: read_tasks
-- An application's tasks, newest first.
SELECT * FROM tarry.task WHERE application = $1 ORDER BY created_at DESC, id DESC;

-- name: next_task
-- The oldest unfinished task of the next tenant that has one, of some shards and kinds.
SELECT * FROM tarry.task
 WHERE shard = ANY($1::integer[]) AND finished_at IS NULL AND work = ANY($2::text[])
   AND (application, environment) > ($3, $4)
 ORDER BY application, environment, created_at, id
 LIMIT 1;

-- name: advance
-- A task with its progress, locked until the commit.
SELECT * FROM tarry.task WHERE id = $1 FOR UPDATE;

-- name: advance_held
-- Whether a shard was not taken or given back, locked so that it stays so until the transaction
-- ends.
SELECT number FROM tarry.shard
 WHERE number = $1 AND epoch = $2 AND worker = $3
   FOR KEY SHARE;

-- name: advance_noted
-- Save the progress of a task.
UPDATE tarry.task SET cursor = $2, done = $3, data = $4, finished_at = $5, failed = $6
 WHERE id = $1;

-- name: advance_failed
-- Waiting or failed deliveries after one, and whether each is to be recovered: its last try failed,
-- and its message was accepted in a time range.
SELECT d.seq, d.message,
       (d.state = 'failed' OR d.tries > 0) AND m.accepted_at >= $3 AND m.accepted_at < $4
       AS concerned
  FROM tarry.delivery AS d JOIN tarry.message AS m ON m.id = d.message
 WHERE +d.lane = $1 AND d.state IN ('waiting', 'failed') AND d.seq > $2
 ORDER BY d.seq
 LIMIT $5;

-- name: advance_live
-- Live or failed deliveries after one, and whether each is live with a message accepted in a time
-- range. It uses two indexes that do not contain deliveries which ended otherwise.
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

-- name: advance_erased
-- The same, and whether also the message's payload was erased.
(SELECT d.seq, m.accepted_at >= $3 AND m.accepted_at < $4 AND {is_erased} AS concerned
   FROM tarry.delivery AS d JOIN tarry.message AS m ON m.id = d.message
  WHERE +d.lane = $1 AND d.state = 'ready' AND d.seq > $2
  ORDER BY d.seq
  LIMIT $5)
 UNION ALL
(SELECT d.seq, d.state = 'waiting' AND m.accepted_at >= $3 AND m.accepted_at < $4 AND {is_erased}
   FROM tarry.delivery AS d JOIN tarry.message AS m ON m.id = d.message
  WHERE +d.lane = $1 AND d.state IN ('waiting', 'failed') AND d.seq > $2
  ORDER BY d.seq
  LIMIT $5)
 ORDER BY seq
 LIMIT $5;

-- name: advance_kept
-- Those of these deliveries that are still in one of the states, locked until the commit.
SELECT seq, state FROM tarry.delivery
 WHERE lane = $1 AND seq = ANY($2::bigint[]) AND state = ANY($3::text[])
 ORDER BY seq
   FOR UPDATE;

-- name: advance_wanted
-- Messages after one, by acceptance, each with its delivery in a lane if it has one, and with the
-- status class of the last attempt there if requested. A message may be replayed if it has its
-- payload, need not wait for its `deliver_at`, and has a delivery in the lane or is wanted by the
-- endpoint. OFFSET 0 makes PostgreSQL find attempts by message: searching back from the end of the
-- lane takes long.
SELECT m.accepted_at, m.id, m.event_type, m.channels, m.tags, d.seq, d.state,
       m.payload IS NOT NULL AND NOT {is_erased}
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
-- Messages after one, by acceptance, and whether each has its payload.
SELECT accepted_at, id, payload IS NOT NULL AS concerned
  FROM tarry.message
 WHERE application = $1 AND accepted_at >= $2 AND accepted_at < $4
   AND (accepted_at, id) > ($2, $3)
 ORDER BY accepted_at, id
 LIMIT $5;

-- name: advance_expunged
-- Delete the payloads of these messages, locked in order.
WITH held AS (
    SELECT id FROM tarry.message WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE
)
UPDATE tarry.message AS m SET payload = NULL, sealed_with = NULL
  FROM held AS h
 WHERE m.id = h.id AND m.payload IS NOT NULL
RETURNING m.id;

-- name: advance_there
-- Those of these messages that still exist, locked until the commit, and whether each has a
-- delivery in a lane by now: a resend may have added one.
SELECT id, $2::bigint = ANY(lanes) AS placed
  FROM tarry.message WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE;

-- name: advance_replayed
-- Make deliveries ready as if they were accepted now.
UPDATE tarry.delivery
   SET state = 'ready', reason = $3, attempts = 0, memory = NULL, due_at = NULL,
       accepted_at = $4, ended_at = NULL
 WHERE lane = $1 AND seq = ANY($2::bigint[]);

-- name: advance_placed
-- Save the places of new deliveries in their messages' rows.
UPDATE tarry.message AS m
   SET lanes = m.lanes || $1::bigint, seqs = m.seqs || new.seq
  FROM unnest($2::text[], $3::bigint[]) AS new (message, seq)
 WHERE m.id = new.message;

-- name: advance_discarded
-- End deliveries of a deleted endpoint, or those whose payloads were erased.
UPDATE tarry.delivery
   SET state = 'discarded', reason = $3, due_at = NULL, ended_at = $4
 WHERE lane = $1 AND seq = ANY($2::bigint[]);

-- name: advance_resends
-- Delete the resends of a lane, in order.
WITH held AS (
    SELECT id FROM tarry.resend WHERE lane = $1 ORDER BY id FOR UPDATE
)
DELETE FROM tarry.resend AS r USING held AS h WHERE r.lane = $1 AND r.id = h.id;

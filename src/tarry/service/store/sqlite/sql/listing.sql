-- Lists. Each reads an index between two keys, both exclusive; the order can be reversed. Long
-- lists return a key, whether the row fits the filter, and the size of its payload if the list has
-- payloads: the rest is read by key.

-- part: whole_message
-- The columns of a message.
message.id, message.application, message.event_type, message.payload, message.event_id,
       message.channels, message.tags, message.accepted_at, message.deliver_at,
       message.payload_until, message.content_type, message.chain, message.sealed_with

-- part: message_without_payload
-- The columns of a message, with NULL in place of its payload.
message.id, message.application, message.event_type, NULL, message.event_id,
       message.channels, message.tags, message.accepted_at, message.deliver_at,
       message.payload_until, message.content_type, message.chain, NULL

-- part: whole_attempt
-- The columns of an attempt at a message.
attempt.id, attempt.lane, message.id, attempt.number, attempt.at, attempt.took, attempt.url,
       attempt.status, attempt.kind, attempt.detail, attempt.body, attempt."trigger",
       attempt.counted, attempt.policy, attempt.now, attempt.draw, attempt.decision,
       attempt.sealed_with

-- part: message_fits
-- Whether a message has the requested channel, tag and one of the event types.
(:channel IS NULL OR :channel IN (SELECT value FROM json_each(message.channels)))
       AND (:tag IS NULL OR :tag IN (SELECT value FROM json_each(message.tags)))
       AND (:event_types IS NULL
            OR message.event_type IN (SELECT value FROM json_each(:event_types)))

-- part: attempt_fits
-- Whether an attempt has the requested result and lane, and its message fits.
(:succeeded IS NULL OR (attempt.kind IS NULL) = :succeeded)
       AND (:status_class IS NULL OR coalesce(attempt.status, 0) / 100 * 100 = :status_class)
       AND (:made_in IS NULL OR attempt.lane = :made_in)
       AND {message_fits}

-- name: page_applications
-- An environment's applications.
SELECT document
  FROM application
 WHERE environment = :environment AND id > :low AND id < :high AND deleted_at IS NULL
 ORDER BY id
 LIMIT :limit;

-- name: page_endpoints
-- An application's endpoints.
SELECT document
  FROM endpoint INDEXED BY endpoint_application
 WHERE application = :application AND id > :low AND id < :high AND standing <> 'deleted'
 ORDER BY id
 LIMIT :limit;

-- name: page_messages
-- An application's messages, and whether each has the requested channel, tag and event type.
SELECT id,
       {message_fits},
       coalesce(length(payload), 0),
       number
  FROM message INDEXED BY message_application
 WHERE application = :application AND id > :low AND id < :high
 ORDER BY id
 LIMIT :limit;

-- name: page_deliveries_to
-- A lane's deliveries, and whether each has the requested state, tries, message and range of ids.
SELECT delivery.seq,
       message.id > :first AND message.id < :last
       AND (:states IS NULL OR delivery.state IN (SELECT value FROM json_each(:states)))
       AND (:tried IS NULL OR (delivery.tries > 0) = :tried)
       AND {message_fits},
       coalesce(length(message.payload), 0),
       message.id
  FROM delivery
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.seq > :low AND delivery.seq < :high
 ORDER BY delivery.seq
 LIMIT :limit;

-- name: page_deliveries_to_undelivered
-- The same for deliveries in all states but delivered: three streams in the lane's order are
-- merged.
SELECT piece.seq,
       message.id > :first AND message.id < :last
       AND piece.state IN (SELECT value FROM json_each(:states))
       AND (:tried IS NULL OR (piece.tries > 0) = :tried)
       AND {message_fits},
       coalesce(length(message.payload), 0),
       message.id
  FROM (SELECT seq, message, state, tries
          FROM delivery INDEXED BY delivery_ready
         WHERE lane = :lane AND state = 'ready' AND seq > :low AND seq < :high
         UNION ALL
        SELECT seq, message, state, tries
          FROM delivery INDEXED BY delivery_stuck
         WHERE lane = :lane AND state IN ('waiting', 'failed') AND seq > :low AND seq < :high
         UNION ALL
        SELECT seq, message, state, tries
          FROM delivery INDEXED BY delivery_dropped
         WHERE lane = :lane AND state IN ('skipped', 'cancelled', 'discarded')
           AND seq > :low AND seq < :high
         ORDER BY seq
         LIMIT :limit) AS piece
 CROSS JOIN message ON message.number = piece.message
 ORDER BY piece.seq
 LIMIT :limit;

-- name: page_deliveries_to_found
-- A delivery with its message.
SELECT delivery.lane, delivery.seq, message.id, delivery.state, delivery.reason, delivery.attempts,
       delivery.tries, delivery.memory, delivery.due_at, delivery.accepted_at, delivery.ended_at,
       {whole_message}
  FROM delivery
  JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.seq = :seq;

-- name: page_deliveries_to_mark
-- The sequence number of a message in a lane.
SELECT delivery.seq
  FROM message
  JOIN delivery ON delivery.message = message.number
 WHERE message.id = :message AND delivery.lane = :lane;

-- name: page_deliveries_to_last
-- The last sequence number of a lane.
SELECT seq FROM delivery WHERE lane = :lane ORDER BY seq DESC LIMIT 1;

-- name: page_deliveries_to_near
-- The first delivery from a sequence number on: its message, and when it was accepted.
SELECT message.id, delivery.accepted_at
  FROM delivery
  JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.seq >= :seq
 ORDER BY delivery.seq
 LIMIT 1;

-- name: page_attempts_to
-- Attempts in a lane, and whether each has the requested result and a message that fits.
SELECT attempt.id,
       {attempt_fits},
       0
  FROM attempt
 CROSS JOIN message ON message.number = attempt.message
 WHERE attempt.lane = :lane AND attempt.id > :low AND attempt.id < :high
 ORDER BY attempt.id
 LIMIT :limit;

-- name: page_attempts_to_found
-- An attempt with its message, without the payload.
SELECT {whole_attempt},
       {message_without_payload}
  FROM attempt
  JOIN message ON message.number = attempt.message
 WHERE attempt.lane = :lane AND attempt.id = :attempt;

-- name: page_attempts_of
-- Attempts at a message, and whether each has the requested result and the message fits.
SELECT attempt.id,
       {attempt_fits},
       0
  FROM message
 CROSS JOIN attempt INDEXED BY attempt_message ON attempt.message = message.number
 WHERE message.id = :message AND attempt.id > :low AND attempt.id < :high
 ORDER BY attempt.id
 LIMIT :limit;

-- name: get_attempt
-- One attempt at a message, after its endpoint.
SELECT endpoint.document,
       {whole_attempt}
  FROM message
  JOIN attempt ON attempt.message = message.number
  JOIN endpoint ON endpoint.lane = attempt.lane
 WHERE message.id = :message AND attempt.id = :attempt;

-- name: expunge_attempt
-- Replace the stored response of an attempt.
UPDATE attempt
   SET body = :kept, sealed_with = NULL
 WHERE message = (SELECT number FROM message WHERE id = :message) AND id = :attempt
RETURNING id;

-- name: expunge_attempt_application
-- The application of a message.
SELECT application FROM message WHERE id = :message;

-- name: page_tasks
-- An environment's tasks of one kind or all, finished or not.
SELECT task.document
  FROM task INDEXED BY task_environment
 WHERE task.environment = :environment AND task.id > :low AND task.id < :high
   AND (:work IS NULL OR task.work = :work)
   AND (:finished IS NULL OR (task.finished_at IS NOT NULL) = :finished)
 ORDER BY task.id
 LIMIT :limit;

-- name: count_deliveries
-- Of a piece of a lane's deliveries: how many were accepted in a time range, by state and tries.
SELECT state, tries > 0, count(*) FILTER (WHERE accepted_at >= :since AND accepted_at < :until),
       count(*), max(seq)
  FROM (SELECT seq, state, tries, accepted_at
          FROM delivery
         WHERE lane = :lane AND seq > :low
         ORDER BY seq
         LIMIT :limit)
 GROUP BY state, tries > 0;

-- name: count_attempts
-- Of a piece of a lane's attempts between two ids: how many succeeded and how many failed.
SELECT kind IS NULL, count(*), max(id)
  FROM (SELECT id, kind
          FROM attempt
         WHERE lane = :lane AND id > :low AND id < :high
         ORDER BY id
         LIMIT :limit)
 GROUP BY kind IS NULL;

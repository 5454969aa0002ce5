-- Tasks: long work on a lane's deliveries or an application's messages.

-- part: is_erased
-- Whether a message is sealed with a data key that was erased.
(message.sealed_with IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM data_key WHERE data_key.id = message.sealed_with))

-- name: add_task
-- Save a task, or its progress.
INSERT INTO task (id, work, environment, application, lane, shard, created_at, finished_at,
                  document)
VALUES (:id, :work, :environment, :application, :lane, :shard, :created_at, :finished_at, :document)
    ON CONFLICT (id) DO UPDATE
   SET finished_at = excluded.finished_at, document = excluded.document;

-- name: add_task_pending
-- A lane's unfinished tasks of some kinds, oldest first.
SELECT document
  FROM task INDEXED BY task_pending
 WHERE lane = :lane AND finished_at IS NULL AND work IN (SELECT value FROM json_each(:works))
 ORDER BY created_at, id;

-- name: get_task
-- A task by id.
SELECT document FROM task WHERE id = :task;

-- name: read_tasks
-- An application's tasks, newest first.
SELECT document FROM task WHERE application = :application ORDER BY created_at DESC, id DESC;

-- name: next_task
-- The oldest unfinished task of the next tenant that has one, of some shards and kinds.
SELECT document
  FROM task INDEXED BY task_turn
 WHERE (application, environment) > (:application, :environment) AND finished_at IS NULL
   AND shard IN (SELECT value FROM json_each(:shards))
   AND work IN (SELECT value FROM json_each(:works))
 ORDER BY application, environment, created_at, id
 LIMIT 1;

-- name: advance_failed
-- Waiting or failed deliveries of a lane after one: whether each is to be recovered (its last try
-- failed, and its message was accepted in a time range), and whether it has ended.
SELECT delivery.seq, (delivery.state = 'failed' OR delivery.tries > 0)
       AND message.accepted_at >= :since AND message.accepted_at < :until,
       delivery.state = 'failed'
  FROM delivery INDEXED BY delivery_stuck
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state IN ('waiting', 'failed') AND delivery.seq > :after
 ORDER BY delivery.seq
 LIMIT :limit;

-- name: advance_live
-- Live or failed deliveries of a lane after one, and whether each is live with a message accepted
-- in a time range: two streams in the lane's order are merged.
SELECT delivery.seq AS seq, message.accepted_at >= :since AND message.accepted_at < :until
  FROM delivery INDEXED BY delivery_ready
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state = 'ready' AND delivery.seq > :after
 UNION ALL
SELECT delivery.seq AS seq, delivery.state = 'waiting'
       AND message.accepted_at >= :since AND message.accepted_at < :until
  FROM delivery INDEXED BY delivery_stuck
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state IN ('waiting', 'failed') AND delivery.seq > :after
 ORDER BY seq
 LIMIT :limit;

-- name: advance_erased
-- The same, and whether also the message's payload was erased.
SELECT delivery.seq AS seq,
       message.accepted_at >= :since AND message.accepted_at < :until AND {is_erased}
  FROM delivery INDEXED BY delivery_ready
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state = 'ready' AND delivery.seq > :after
 UNION ALL
SELECT delivery.seq AS seq, delivery.state = 'waiting'
       AND message.accepted_at >= :since AND message.accepted_at < :until AND {is_erased}
  FROM delivery INDEXED BY delivery_stuck
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state IN ('waiting', 'failed') AND delivery.seq > :after
 ORDER BY seq
 LIMIT :limit;

-- name: advance_messages
-- An application's messages after one, by acceptance, each with its delivery in a lane if it has
-- one, and with the status class of the last attempt there if requested.
SELECT message.accepted_at, message.id, message.number, message.event_type, message.channels,
       message.tags,
       message.payload IS NOT NULL AND NOT {is_erased}
       AND coalesce(message.deliver_at <= :now, 1),
       delivery.seq, delivery.state,
       iif(:classed, (SELECT coalesce(attempt.status, 0) / 100 * 100
                        FROM attempt INDEXED BY attempt_message
                       WHERE attempt.message = message.number AND attempt.lane = :lane
                       ORDER BY attempt.id DESC
                       LIMIT 1), NULL)
  FROM message INDEXED BY message_accepted
  LEFT JOIN delivery INDEXED BY delivery_message
    ON delivery.message = message.number AND delivery.lane = :lane
 WHERE message.application = :application
   AND (message.accepted_at, message.id) > (:at, :after) AND message.accepted_at < :until
 ORDER BY message.accepted_at, message.id
 LIMIT :limit;

-- name: advance_payloads
-- An application's messages after one, by acceptance, and whether each has its payload.
SELECT accepted_at, id, payload IS NOT NULL, number
  FROM message INDEXED BY message_accepted
 WHERE application = :application
   AND (accepted_at, id) > (:at, :after) AND accepted_at < :until
 ORDER BY accepted_at, id
 LIMIT :limit;

-- name: advance_purge
-- Delete the payloads of messages.
WITH told (number) AS (VALUES (?))
UPDATE message
   SET payload = NULL, sealed_with = NULL
  FROM told
 WHERE message.number = told.number AND message.payload IS NOT NULL;

-- name: advance_again
-- Make deliveries ready again, as if they were new.
WITH told (now, lane, seq) AS (VALUES (?, ?, ?))
UPDATE delivery
   SET state = 'ready', reason = 'replayed', attempts = 0, memory = NULL, due_at = NULL,
       accepted_at = told.now, ended_at = NULL
  FROM told
 WHERE delivery.lane = told.lane AND delivery.seq = told.seq;

-- name: advance_discard
-- End deliveries whose endpoint was deleted, or whose payload was erased.
WITH told (reason, now, lane, seq) AS (VALUES (?, ?, ?, ?))
UPDATE delivery
   SET state = 'discarded', reason = told.reason, due_at = NULL, ended_at = told.now
  FROM told
 WHERE delivery.lane = told.lane AND delivery.seq = told.seq;

-- name: advance_resends
-- Delete the resends of a lane.
DELETE FROM resend WHERE lane = :lane;

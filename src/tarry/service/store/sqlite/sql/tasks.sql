-- Long work on a lane's deliveries or an application's messages.

-- name: add_task
-- Keep a task, or how far it came.
INSERT INTO task (id, work, environment, application, lane, shard, created_at, finished_at,
                  document)
VALUES (:id, :work, :environment, :application, :lane, :shard, :created_at, :finished_at, :document)
    ON CONFLICT (id) DO UPDATE
   SET finished_at = excluded.finished_at, document = excluded.document;

-- name: add_task_pending
-- The tasks of a lane that are not done, of some works, the oldest first.
SELECT document
  FROM task INDEXED BY task_pending
 WHERE lane = :lane AND finished_at IS NULL AND work IN (SELECT value FROM json_each(:works))
 ORDER BY created_at, id;

-- name: get_task
-- A task by id.
SELECT document FROM task WHERE id = :task;

-- name: tasks
-- An application's tasks, the newest first.
SELECT document FROM task WHERE application = :application ORDER BY created_at DESC, id DESC;

-- name: task
-- The oldest task of the next tenant that has one to be done, of some shards and works.
SELECT document
  FROM task INDEXED BY task_turn
 WHERE (application, environment) > (:application, :environment) AND finished_at IS NULL
   AND shard IN (SELECT value FROM json_each(:shards))
   AND work IN (SELECT value FROM json_each(:works))
 ORDER BY application, environment, created_at, id
 LIMIT 1;

-- name: advance_failed
-- What waits or failed in a lane, behind one, whether it is what failed, for good or the last time,
-- of a message that was accepted in a span of time, and whether it has ended.
SELECT delivery.seq, (delivery.state = 'failed' OR delivery.tries > 0)
       AND message.accepted_at >= :since AND message.accepted_at < :until,
       delivery.state = 'failed'
  FROM delivery INDEXED BY delivery_stuck
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state IN ('waiting', 'failed') AND delivery.seq > :after
 ORDER BY delivery.seq
 LIMIT :limit;

-- name: advance_live
-- What is live or failed in a lane, behind one, and whether it is live and its message was accepted
-- in a span of time: two streams in the order of the lane are merged.
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

-- name: advance_messages
-- An application's messages behind one, by when they were accepted, each with its delivery in a lane
-- if it has any, and with the status class of the last attempt there if that is asked for.
SELECT message.accepted_at, message.id, message.number, message.event_type, message.channels,
       message.tags,
       message.payload IS NOT NULL AND coalesce(message.deliver_at <= :now, 1),
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
-- An application's messages behind one, by when they were accepted, and whether each has its payload.
SELECT accepted_at, id, payload IS NOT NULL, number
  FROM message INDEXED BY message_accepted
 WHERE application = :application
   AND (accepted_at, id) > (:at, :after) AND accepted_at < :until
 ORDER BY accepted_at, id
 LIMIT :limit;

-- name: advance_again
-- Make a delivery ready again, as if it were new.
UPDATE delivery
   SET state = 'ready', reason = 'replayed', attempts = 0, memory = NULL, due_at = NULL,
       accepted_at = :now, ended_at = NULL
 WHERE lane = :lane AND seq = :seq;

-- name: advance_discard
-- End a delivery whose endpoint is no more.
UPDATE delivery
   SET state = 'discarded', reason = 'endpoint deleted', due_at = NULL, ended_at = :now
 WHERE lane = :lane AND seq = :seq;

-- name: advance_resends
-- Nobody will be sent anything again.
DELETE FROM resend WHERE lane = :lane;

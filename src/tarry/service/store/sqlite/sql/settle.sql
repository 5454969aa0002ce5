-- What becomes of deliveries and lanes.

-- name: settle_found
-- Which of some deliveries, given as [lane, seq, tries, message], are as they were read, with the
-- numbers of their messages and whether they can be settled: tries and message are the fence.
SELECT json_group_object(told.key, json_array(
           delivery.message,
           json(iif(delivery.state IN ('ready', 'waiting'), 'true', 'false'))))
  FROM json_each(:told) AS told
 CROSS JOIN delivery ON delivery.lane = told.value ->> 0 AND delivery.seq = told.value ->> 1
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.tries = told.value ->> 2 AND message.id = told.value ->> 3;

-- name: settle
-- Write down what became of deliveries.
WITH told (lane, seq, state, reason, attempts, tried, due_at, memory, ended_at) AS (
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
)
UPDATE delivery
   SET state = told.state, reason = told.reason, attempts = told.attempts,
       tries = tries + told.tried, due_at = told.due_at, memory = told.memory,
       ended_at = told.ended_at
  FROM told
 WHERE delivery.lane = told.lane AND delivery.seq = told.seq;

-- name: settle_late
-- Count a try of a delivery that ended while it was made.
UPDATE delivery SET tries = tries + 1 WHERE lane = :lane AND seq = :seq;

-- name: settle_resent
-- What somebody asked for was sent.
DELETE FROM resend WHERE lane = :lane AND id = :resend RETURNING message;

-- name: settle_there
-- Whether a message has a delivery in a lane.
SELECT EXISTS (SELECT 1 FROM delivery WHERE message = :message AND lane = :lane);

-- name: settle_added
-- Put a message that was resent where it had never been sent.
INSERT INTO delivery (lane, seq, message, state, reason, tries, accepted_at, ended_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: settle_arrived
-- What had failed or was skipped arrived after all.
UPDATE delivery SET state = 'delivered', reason = 'delivered', ended_at = :at
 WHERE message = :message AND lane = :lane AND state IN ('failed', 'skipped');

-- name: settle_attempt
-- Keep an attempt.
INSERT INTO attempt (lane, id, message, number, at, took, url, status, kind, detail, body,
                     "trigger", counted, policy, now, draw, decision)
SELECT * FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))
 WHERE column1 IS NOT NULL;

-- name: settle_ended
-- Count what ended in lanes, or came back to life.
WITH told (deliveries, lane) AS (VALUES (?, ?))
UPDATE lane_state SET ended = ended + told.deliveries FROM told WHERE lane_state.lane = told.lane;

-- name: settle_known
-- Keep what a lane has learned.
UPDATE lane_state SET known = :known WHERE lane = :lane;

-- name: settle_endpoint
-- The endpoint of a lane.
SELECT document FROM endpoint WHERE lane = :lane;

-- name: settle_notice
-- Keep what an owner should hear of.
INSERT INTO notice (id, at, document) VALUES (:id, :at, :document)
    ON CONFLICT (id) DO UPDATE SET at = excluded.at, document = excluded.document;

-- name: expire_look
-- Whether anything is too old.
SELECT 1
  FROM delivery INDEXED BY delivery_aging
 WHERE lane = :lane AND state IN ('ready', 'waiting') AND accepted_at < :accepted_before
 LIMIT 1;

-- name: expire
-- End what is too old, the oldest first.
UPDATE delivery
   SET state = 'failed', reason = 'too old', due_at = NULL, ended_at = :now
 WHERE lane = :lane AND seq IN (
    SELECT seq
      FROM delivery INDEXED BY delivery_aging
     WHERE lane = :lane AND state IN ('ready', 'waiting') AND accepted_at < :accepted_before
     ORDER BY accepted_at, seq
     LIMIT :limit
 );

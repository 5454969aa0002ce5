-- Outcomes of deliveries and changes of lanes.

-- name: settle_found
-- Those of some deliveries, given as [lane, seq, tries, message], that did not change since they
-- were read, with their message numbers and whether they are live: tries and message are the fence.
SELECT json_group_object(told.key, json_array(
           delivery.message,
           json(iif(delivery.state IN ('ready', 'waiting'), 'true', 'false'))))
  FROM json_each(:told) AS told
 CROSS JOIN delivery ON delivery.lane = told.value ->> 0 AND delivery.seq = told.value ->> 1
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.tries = told.value ->> 2 AND message.id = told.value ->> 3;

-- name: settle
-- Save the outcomes of deliveries.
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
-- Count a try of a delivery that ended while the attempt was in flight.
UPDATE delivery SET tries = tries + 1 WHERE lane = :lane AND seq = :seq;

-- name: settle_resent
-- Delete a resend that was sent.
DELETE FROM resend WHERE lane = :lane AND id = :resend RETURNING message;

-- name: settle_there
-- Whether a message has a delivery in a lane.
SELECT EXISTS (SELECT 1 FROM delivery WHERE message = :message AND lane = :lane);

-- name: settle_added
-- Add the ended delivery of a resent message to a lane that had none.
INSERT INTO delivery (lane, seq, message, state, reason, tries, accepted_at, ended_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: settle_arrived
-- Mark a failed or skipped delivery as delivered after a resend.
UPDATE delivery SET state = 'delivered', reason = 'delivered', ended_at = :at
 WHERE message = :message AND lane = :lane AND state IN ('failed', 'skipped');

-- name: settle_attempt
-- Save an attempt.
INSERT INTO attempt (lane, id, message, number, at, took, url, status, kind, detail, body,
                     "trigger", counted, policy, now, draw, decision, sealed_with)
SELECT * FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))
 WHERE column1 IS NOT NULL;

-- name: settle_ended
-- Count deliveries that ended in lanes, or that became live again.
WITH told (deliveries, lane) AS (VALUES (?, ?))
UPDATE lane_state SET ended = ended + told.deliveries FROM told WHERE lane_state.lane = told.lane;

-- name: settle_known
-- Save the learned state of a lane.
UPDATE lane_state SET known = :known WHERE lane = :lane;

-- name: settle_endpoint
-- The endpoint of a lane.
SELECT document FROM endpoint WHERE lane = :lane;

-- name: settle_notice
-- Save a notice to an endpoint's owner.
INSERT INTO notice (id, at, document) VALUES (:id, :at, :document)
    ON CONFLICT (id) DO UPDATE SET at = excluded.at, document = excluded.document;

-- name: expire_look
-- Whether any live delivery is too old.
SELECT 1
  FROM delivery INDEXED BY delivery_aging
 WHERE lane = :lane AND state IN ('ready', 'waiting') AND accepted_at < :accepted_before
 LIMIT 1;

-- name: expire
-- End deliveries that are too old, oldest first.
UPDATE delivery
   SET state = 'failed', reason = 'too old', due_at = NULL, ended_at = :now
 WHERE lane = :lane AND seq IN (
    SELECT seq
      FROM delivery INDEXED BY delivery_aging
     WHERE lane = :lane AND state IN ('ready', 'waiting') AND accepted_at < :accepted_before
     ORDER BY accepted_at, seq
     LIMIT :limit
 );

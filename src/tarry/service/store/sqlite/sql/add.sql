-- Accepting messages.

-- name: add_applications
-- Applications with what `add` needs; the version tells whether their endpoints changed.
SELECT json_group_array(json_array(application.id, application.environment,
                                   application.most_waiting, application.version))
  FROM json_each(:applications) AS asked
 CROSS JOIN application ON application.id = asked.value
 WHERE application.deleted_at IS NULL;

-- name: add_endpoints
-- The endpoints of an application that are not deleted.
SELECT document
  FROM endpoint
 WHERE application = :application AND standing <> 'deleted'
 ORDER BY lane;

-- name: add_key
-- The message that an idempotency key belongs to.
SELECT fingerprint, message
  FROM key
 WHERE environment = :environment AND key = :key;

-- name: add_event
-- Whether an application has used an event id before.
SELECT 1
  FROM message
 WHERE application = :application AND event_id = :event_id;

-- name: add_waiting
-- How many of an application's deliveries are waiting.
SELECT total(lane.added - lane_state.ended)
  FROM endpoint
  JOIN lane ON lane.number = endpoint.lane
  JOIN lane_state ON lane_state.lane = endpoint.lane
 WHERE endpoint.application = :application;

-- name: add_last
-- The number of the last message.
SELECT coalesce(max(number), 0) FROM message;

-- name: add_message
-- Save a message.
INSERT INTO message (number, id, application, event_type, event_id, channels, tags, accepted_at,
                     deliver_at, payload_until, content_type, chain, payload, sealed_with)
SELECT * FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)) WHERE column1 IS NOT NULL;

-- name: add_first
-- Save an idempotency key with the first message under it.
INSERT INTO key (environment, key, message, fingerprint, accepted_at)
SELECT * FROM (VALUES (?, ?, ?, ?, ?)) WHERE column1 IS NOT NULL;

-- name: add_to_lanes
-- Assign the lanes' next sequence numbers.
WITH told (deliveries, lane) AS (VALUES (?, ?))
UPDATE lane SET added = added + told.deliveries FROM told WHERE lane.number = told.lane;

-- name: add_last_of_lanes
-- The last sequence numbers of lanes, and whether each lane is awake and does not doze.
SELECT json_group_array(json_array(lane.number, lane.added, lane.awake AND NOT lane.dozing))
  FROM json_each(:lanes) AS asked
 CROSS JOIN lane ON lane.number = asked.value;

-- name: add_delivery
-- Add a delivery of a message to a lane.
INSERT INTO delivery (lane, seq, message, state, reason, due_at, accepted_at, ended_at)
SELECT * FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?)) WHERE column1 IS NOT NULL;

-- name: expunge
-- Delete a message's payload.
UPDATE message
   SET payload = NULL, sealed_with = NULL
 WHERE id = :message AND application = :application
RETURNING number;

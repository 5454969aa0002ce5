-- Taking messages in.

-- name: add_application
-- What adding must know of an application; the version tells whether its endpoints changed.
SELECT environment, most_waiting, version
  FROM application
 WHERE id = :application AND deleted_at IS NULL;

-- name: add_endpoints
-- Who may want an application's messages.
SELECT document
  FROM endpoint
 WHERE application = :application AND standing <> 'deleted'
 ORDER BY lane;

-- name: add_key
-- The message that has an idempotency key already.
SELECT fingerprint, message
  FROM key
 WHERE environment = :environment AND key = :key;

-- name: add_event
-- Whether an application has used an event id before.
SELECT 1
  FROM message
 WHERE application = :application AND event_id = :event_id;

-- name: add_waiting
-- How many of an application's deliveries wait.
SELECT total(lane.added - lane_state.ended)
  FROM endpoint
  JOIN lane ON lane.number = endpoint.lane
  JOIN lane_state ON lane_state.lane = endpoint.lane
 WHERE endpoint.application = :application;

-- name: add_last
-- The number of the last message.
SELECT coalesce(max(number), 0) FROM message;

-- name: add_message
-- Keep a message.
INSERT INTO message (number, id, application, event_type, event_id, channels, tags, accepted_at,
                     deliver_at, payload_until, content_type, payload)
SELECT * FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)) WHERE column1 IS NOT NULL;

-- name: add_first
-- Keep an idempotency key with the message that came first under it.
INSERT INTO key (environment, key, message, fingerprint, accepted_at)
SELECT * FROM (VALUES (?, ?, ?, ?, ?)) WHERE column1 IS NOT NULL;

-- name: add_to_lane
-- Give a lane's next numbers, and tell whether it is awake and does not doze.
UPDATE lane
   SET added = added + :deliveries
 WHERE number = :lane
RETURNING number, added, awake AND NOT dozing;

-- name: add_delivery
-- Put a message on its way to an endpoint.
INSERT INTO delivery (lane, seq, message, state, reason, due_at, accepted_at, ended_at)
SELECT * FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?)) WHERE column1 IS NOT NULL;

-- name: expunge
-- Forget a message's payload.
UPDATE message
   SET payload = NULL
 WHERE id = :message AND application = :application
RETURNING number;

-- Messages, deliveries and attempts.

-- name: get_message
-- The message with an id or, if there is none, an event id.
SELECT id, application, event_type, payload, event_id, channels, tags, accepted_at, deliver_at,
       payload_until, content_type, chain, sealed_with
  FROM message
 WHERE id = :known_as AND application = :application
 UNION ALL
SELECT id, application, event_type, payload, event_id, channels, tags, accepted_at, deliver_at,
       payload_until, content_type, chain, sealed_with
  FROM message
 WHERE application = :application AND event_id = :known_as
 LIMIT 1;

-- name: page_messages_found
-- The message with a number.
SELECT id, application, event_type, payload, event_id, channels, tags, accepted_at, deliver_at,
       payload_until, content_type, chain, sealed_with
  FROM message
 WHERE number = :number;

-- name: cancel_message
-- The number of an application's message.
SELECT number FROM message WHERE id = :message AND application = :application;

-- name: read_deliveries
-- All deliveries of a message, with their endpoints.
SELECT endpoint.document, delivery.lane, delivery.seq, message.id, delivery.state, delivery.reason,
       delivery.attempts, delivery.tries, delivery.memory, delivery.due_at, delivery.accepted_at,
       delivery.ended_at
  FROM message
  JOIN delivery ON delivery.message = message.number
  JOIN endpoint ON endpoint.lane = delivery.lane
 WHERE message.id = :message
 ORDER BY endpoint.id;

-- name: read_undelivered
-- Live or failed deliveries of an application after one, by lane and sequence: two streams in that
-- order are merged.
SELECT endpoint.document, endpoint.lane AS lane, delivery.seq AS seq, message.id, delivery.state,
       delivery.reason, delivery.attempts, delivery.tries, delivery.memory, delivery.due_at,
       delivery.accepted_at, delivery.ended_at
  FROM endpoint INDEXED BY endpoint_lane
 CROSS JOIN delivery INDEXED BY delivery_ready ON delivery.lane = endpoint.lane
 CROSS JOIN message ON message.number = delivery.message
 WHERE endpoint.application = :application AND endpoint.lane >= :lane AND endpoint.lane <= :last
   AND delivery.state = 'ready' AND delivery.seq > iif(endpoint.lane = :lane, :seq, 0)
 UNION ALL
SELECT endpoint.document, endpoint.lane AS lane, delivery.seq AS seq, message.id, delivery.state,
       delivery.reason, delivery.attempts, delivery.tries, delivery.memory, delivery.due_at,
       delivery.accepted_at, delivery.ended_at
  FROM endpoint INDEXED BY endpoint_lane
 CROSS JOIN delivery INDEXED BY delivery_stuck ON delivery.lane = endpoint.lane
 CROSS JOIN message ON message.number = delivery.message
 WHERE endpoint.application = :application AND endpoint.lane >= :lane AND endpoint.lane <= :last
   AND delivery.state IN ('waiting', 'failed')
   AND delivery.seq > iif(endpoint.lane = :lane, :seq, 0)
 ORDER BY lane, seq
 LIMIT :limit;

-- name: read_undelivered_in
-- The same for all applications of an environment that are not hidden, lane by lane.
SELECT endpoint.document, endpoint.lane AS lane, delivery.seq AS seq, message.id, delivery.state,
       delivery.reason, delivery.attempts, delivery.tries, delivery.memory, delivery.due_at,
       delivery.accepted_at, delivery.ended_at
  FROM endpoint
 CROSS JOIN application ON application.id = endpoint.application
 CROSS JOIN delivery INDEXED BY delivery_ready ON delivery.lane = endpoint.lane
 CROSS JOIN message ON message.number = delivery.message
 WHERE endpoint.lane >= :lane
   AND application.environment = :environment AND application.deleted_at IS NULL
   AND delivery.state = 'ready' AND delivery.seq > iif(endpoint.lane = :lane, :seq, 0)
 UNION ALL
SELECT endpoint.document, endpoint.lane AS lane, delivery.seq AS seq, message.id, delivery.state,
       delivery.reason, delivery.attempts, delivery.tries, delivery.memory, delivery.due_at,
       delivery.accepted_at, delivery.ended_at
  FROM endpoint
 CROSS JOIN application ON application.id = endpoint.application
 CROSS JOIN delivery INDEXED BY delivery_stuck ON delivery.lane = endpoint.lane
 CROSS JOIN message ON message.number = delivery.message
 WHERE endpoint.lane >= :lane
   AND application.environment = :environment AND application.deleted_at IS NULL
   AND delivery.state IN ('waiting', 'failed')
   AND delivery.seq > iif(endpoint.lane = :lane, :seq, 0)
 ORDER BY lane, seq
 LIMIT :limit;

-- name: read_attempts
-- All attempts of a message.
SELECT attempt.id, attempt.lane, message.id, attempt.number, attempt.at, attempt.took, attempt.url,
       attempt.status, attempt.kind, attempt.detail, attempt.body, attempt."trigger",
       attempt.counted, attempt.policy, attempt.now, attempt.draw, attempt.decision,
       attempt.sealed_with
  FROM message
  JOIN attempt ON attempt.message = message.number
 WHERE message.id = :message
 ORDER BY attempt.id;

-- name: counts
-- How many deliveries of a lane are in each state.
SELECT state, count(*) FROM delivery WHERE lane = :lane GROUP BY state;

-- name: read_notices
-- Notices to endpoint owners, after an id.
SELECT document FROM notice WHERE id > :after ORDER BY id LIMIT :limit;

-- name: cancel
-- End a message's live deliveries.
UPDATE delivery
   SET state = 'cancelled', reason = 'cancelled', due_at = NULL, ended_at = :now
 WHERE message = :message AND state IN ('ready', 'waiting')
RETURNING lane;

-- name: resend
-- Request one more attempt.
INSERT OR REPLACE INTO resend (lane, id, message) VALUES (:lane, :resend, :message);

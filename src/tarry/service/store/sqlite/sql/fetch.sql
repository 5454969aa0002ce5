-- Deliveries that a lane can send next. Each stream reads one index from where the last read ended,
-- and only the requested rows: deliveries after them cost nothing.

-- name: fetch_lane
-- How many deliveries were added to a lane, and the lane's version.
SELECT added, version FROM lane WHERE number = :lane;

-- name: fetch_ready
-- Ready deliveries by sequence, between two numbers.
SELECT delivery.lane, delivery.seq, message.id, message.event_type, message.payload,
       delivery.accepted_at, delivery.due_at, delivery.tries, delivery.attempts, delivery.memory, '',
       message.content_type, message.chain, message.sealed_with
  FROM delivery INDEXED BY delivery_ready
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state = 'ready'
   AND delivery.seq > :after AND delivery.seq < :before
 ORDER BY delivery.seq
 LIMIT :limit;

-- name: fetch_waiting
-- Waiting deliveries by due time, those that are due.
SELECT delivery.lane, delivery.seq, message.id, message.event_type, message.payload,
       delivery.accepted_at, delivery.due_at, delivery.tries, delivery.attempts, delivery.memory, '',
       message.content_type, message.chain, message.sealed_with
  FROM delivery INDEXED BY delivery_waiting
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state = 'waiting'
   AND (delivery.due_at, delivery.seq) > (:due_after, :after) AND delivery.due_at <= :now
 ORDER BY delivery.due_at, delivery.seq
 LIMIT :limit;

-- name: fetch_early
-- Waiting deliveries by due time, due or not, except scheduled ones.
SELECT delivery.lane, delivery.seq, message.id, message.event_type, message.payload,
       delivery.accepted_at, delivery.due_at, delivery.tries, delivery.attempts, delivery.memory, '',
       message.content_type, message.chain, message.sealed_with
  FROM delivery INDEXED BY delivery_early
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state = 'waiting' AND delivery.reason <> 'scheduled'
   AND (delivery.due_at, delivery.seq) > (:due_after, :after)
 ORDER BY delivery.due_at, delivery.seq
 LIMIT :limit;

-- name: fetch_resend
-- Requested resends, in the order of the requests.
SELECT resend.lane, 0, message.id, message.event_type, message.payload,
       message.accepted_at, NULL, 0, 0, NULL, resend.id, message.content_type, message.chain,
       message.sealed_with
  FROM resend
  JOIN message ON message.number = resend.message
 WHERE resend.lane = :lane
 ORDER BY resend.id
 LIMIT :limit;

-- name: fetch_next
-- The due time of the first delivery that is not due yet.
SELECT due_at
  FROM delivery INDEXED BY delivery_waiting
 WHERE lane = :lane AND state = 'waiting' AND due_at > :now
 ORDER BY due_at, seq
 LIMIT 1;

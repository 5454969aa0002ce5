-- What a lane could send next. Each stream reads one index from where it was left off, and as many
-- rows as are asked for: what waits behind them costs nothing.

-- name: fetch_lane
-- How many deliveries a lane got so far, and the number of its changes.
SELECT added, version FROM lane WHERE number = :lane;

-- name: fetch_ready
-- By sequence, between two numbers.
SELECT delivery.lane, delivery.seq, message.id, message.event_type, message.payload,
       delivery.accepted_at, delivery.due_at, delivery.tries, delivery.attempts, delivery.memory, '',
       message.content_type
  FROM delivery INDEXED BY delivery_ready
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state = 'ready'
   AND delivery.seq > :after AND delivery.seq < :before
 ORDER BY delivery.seq
 LIMIT :limit;

-- name: fetch_waiting
-- By due time, those that are due.
SELECT delivery.lane, delivery.seq, message.id, message.event_type, message.payload,
       delivery.accepted_at, delivery.due_at, delivery.tries, delivery.attempts, delivery.memory, '',
       message.content_type
  FROM delivery INDEXED BY delivery_waiting
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state = 'waiting'
   AND (delivery.due_at, delivery.seq) > (:due_after, :after) AND delivery.due_at <= :now
 ORDER BY delivery.due_at, delivery.seq
 LIMIT :limit;

-- name: fetch_early
-- By due time, due or not, but for what is scheduled.
SELECT delivery.lane, delivery.seq, message.id, message.event_type, message.payload,
       delivery.accepted_at, delivery.due_at, delivery.tries, delivery.attempts, delivery.memory, '',
       message.content_type
  FROM delivery INDEXED BY delivery_early
 CROSS JOIN message ON message.number = delivery.message
 WHERE delivery.lane = :lane AND delivery.state = 'waiting' AND delivery.reason <> 'scheduled'
   AND (delivery.due_at, delivery.seq) > (:due_after, :after)
 ORDER BY delivery.due_at, delivery.seq
 LIMIT :limit;

-- name: fetch_resend
-- What somebody asked to be sent again, in the order of asking.
SELECT resend.lane, 0, message.id, message.event_type, message.payload,
       message.accepted_at, NULL, 0, 0, NULL, resend.id, message.content_type
  FROM resend
  JOIN message ON message.number = resend.message
 WHERE resend.lane = :lane
 ORDER BY resend.id
 LIMIT :limit;

-- name: fetch_next
-- When the first is due that is not due yet.
SELECT due_at
  FROM delivery INDEXED BY delivery_waiting
 WHERE lane = :lane AND state = 'waiting' AND due_at > :now
 ORDER BY due_at, seq
 LIMIT 1;

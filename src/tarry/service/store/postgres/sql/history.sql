-- part: delivery_with_endpoint
-- The columns of an endpoint and of a delivery to it.
e.*, d.seq, d.message, d.state, d.reason, d.attempts, d.tries, d.memory, d.due_at, d.accepted_at,
       d.ended_at

-- part: undelivered_there
-- A lane's waiting or failed deliveries after one, as many as could be needed.
(
      (SELECT * FROM tarry.delivery AS d
        WHERE +d.lane = l.number AND d.state = 'ready'
          AND d.seq > CASE WHEN l.number = $2 THEN $3::bigint ELSE 0 END
        ORDER BY d.seq LIMIT $4)
      UNION ALL
      (SELECT * FROM tarry.delivery AS d
        WHERE +d.lane = l.number AND d.state IN ('waiting', 'failed')
          AND d.seq > CASE WHEN l.number = $2 THEN $3::bigint ELSE 0 END
        ORDER BY d.seq LIMIT $4)
 )

-- name: get_message
-- A message by id or, if there is none, by event id.
SELECT m.* FROM tarry.message AS m
 WHERE m.application = $1
   AND m.id IN ($2, (SELECT e.message FROM tarry.event AS e
                      WHERE e.application = $1 AND e.event_id = $2))
 ORDER BY m.id <> $2
 LIMIT 1;

-- name: read_deliveries
-- A message's deliveries, by the places in the message's row.
SELECT {delivery_with_endpoint}
  FROM tarry.message AS m
 CROSS JOIN LATERAL unnest(m.lanes, m.seqs) AS place (lane, seq)
  JOIN tarry.delivery AS d ON d.lane = place.lane AND d.seq = place.seq
  JOIN tarry.endpoint AS e ON e.lane = d.lane
 WHERE m.id = $1
 ORDER BY e.id;

-- name: read_undelivered
-- Waiting or failed deliveries after one, by lane: the first ones of each lane.
SELECT {delivery_with_endpoint}
  FROM tarry.lane AS l
  JOIN tarry.endpoint AS e ON e.lane = l.number
 CROSS JOIN LATERAL {undelivered_there} AS d
 WHERE l.application = $1 AND l.number >= $2::bigint AND l.number <= $5::bigint
 ORDER BY l.number, d.seq
 LIMIT $4;

-- name: read_undelivered_in
-- The same for all applications of an environment that are not deleted.
SELECT {delivery_with_endpoint}
  FROM tarry.application AS a
  JOIN tarry.lane AS l ON l.application = a.id
  JOIN tarry.endpoint AS e ON e.lane = l.number
 CROSS JOIN LATERAL {undelivered_there} AS d
 WHERE a.environment = $1 AND a.deleted_at IS NULL AND l.number >= $2::bigint
 ORDER BY l.number, d.seq
 LIMIT $4;

-- name: read_attempts
-- A message's attempts.
SELECT * FROM tarry.attempt WHERE message = $1 ORDER BY id;

-- name: counts
-- How many deliveries of a lane are in each state.
SELECT state, count(*) AS many FROM tarry.delivery WHERE lane = $1 GROUP BY state;

-- name: read_notices
-- Notices after an id.
SELECT * FROM tarry.notice WHERE id > $1 ORDER BY id LIMIT $2;

-- name: cancel
-- A message's deliveries that can be cancelled, locked until the commit. Each is found by its
-- sequence number, as in `settle`.
SELECT d.lane, d.seq
  FROM tarry.message AS m
 CROSS JOIN LATERAL unnest(m.lanes, m.seqs) AS place (lane, seq)
  JOIN tarry.delivery AS d ON d.lane = place.lane AND d.seq = place.seq
 WHERE m.id = $1 AND d.state || '' IN ('ready', 'waiting')
 ORDER BY d.lane, d.seq
   FOR UPDATE OF d;

-- name: cancel_message
-- The places of a message's deliveries.
SELECT lanes FROM tarry.message WHERE application = $1 AND id = $2;

-- name: cancel_deliveries
-- End deliveries that were cancelled.
UPDATE tarry.delivery AS d
   SET state = 'cancelled', reason = $3, due_at = NULL, ended_at = $4
  FROM unnest($1::bigint[], $2::bigint[]) AS gone (lane, seq)
 WHERE d.lane = gone.lane AND d.seq = gone.seq;

-- name: resend_endpoint
-- Keep an endpoint from being deleted until the commit.
SELECT id FROM tarry.endpoint WHERE id = $1 AND standing <> 'deleted' FOR SHARE;

-- name: resend_message
-- Keep a message from being swept until the commit.
SELECT id FROM tarry.message WHERE application = $1 AND id = $2 FOR SHARE;

-- name: resend
-- Request one more attempt.
INSERT INTO tarry.resend (lane, id, message) VALUES ($1, $2, $3)
    ON CONFLICT (lane, id) DO UPDATE SET message = excluded.message;

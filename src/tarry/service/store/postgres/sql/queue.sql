-- name: lanes
-- Lanes with their endpoints and applications, and their environments' policies, in the order asked
-- for.
SELECT e.*, l.added, l.version, s.ended, s.pace, s.origin, s.accepted_at, s.failing_since, s.failures,
       s.warned, a.environment AS a_environment, a.uid AS a_uid, a.name AS a_name,
       a.rate AS a_rate, a.policy AS a_policy, a.most_waiting AS a_most_waiting,
       a.metadata AS a_metadata, a.created_at AS a_created_at, a.updated_at AS a_updated_at,
       v.policy AS environment_policy
  FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (lane, place)
  JOIN tarry.lane AS l ON l.number = asked.lane
  JOIN tarry.lane_state AS s ON s.lane = l.number
  JOIN tarry.endpoint AS e ON e.lane = l.number
  JOIN tarry.application AS a ON a.id = e.application
  LEFT JOIN tarry.environment AS v ON v.id = a.environment
 ORDER BY asked.place;

-- name: fetch
-- Deliveries that lanes can send next. There is one part for each stream, which reads its own index
-- and only the requested rows: the expressions of the lane are those of the indexes (see migration
-- 4). `$7` is now, `$8` the most bytes of payloads, except that each want always gets its first
-- delivery.
WITH want AS (
    SELECT w.*, l.added, l.version, l.application,
           (SELECT d.due_at FROM tarry.delivery AS d
             WHERE w.stream = 'waiting' AND -d.lane = -w.lane AND d.state = 'waiting'
               AND d.due_at > $7::float8
             ORDER BY d.due_at LIMIT 1) AS next_due_at
      FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::float8[])
           WITH ORDINALITY AS w (lane, stream, most, after, before, due_after, place)
      JOIN tarry.lane AS l ON l.number = w.lane
), found AS (
    SELECT w.place, w.lane, w.stream, w.added, w.version, w.next_due_at, d.seq, d.message,
           d.accepted_at, d.due_at, d.tries, d.attempts, d.memory, d.resend, d.by_due,
           m.event_type, m.payload, m.content_type, m.chain, m.sealed_with,
           m.accepted_at AS message_accepted_at,
           row_number() OVER (PARTITION BY w.place ORDER BY d.by_due, d.seq, d.resend) AS nth,
           sum(octet_length(m.payload)) OVER (ORDER BY w.place, d.by_due, d.seq, d.resend) AS bytes
      FROM want AS w
      LEFT JOIN LATERAL (
          (SELECT d.seq, d.message, d.accepted_at, d.due_at, d.tries, d.attempts, d.memory,
                  '' COLLATE "C" AS resend, NULL::float8 AS by_due
             FROM tarry.delivery AS d
            WHERE w.stream = 'ready' AND +d.lane = w.lane AND d.state = 'ready'
              AND d.seq > w.after AND d.seq < coalesce(w.before, 9223372036854775807)
            ORDER BY d.seq LIMIT w.most)
          UNION ALL
          (SELECT d.seq, d.message, d.accepted_at, d.due_at, d.tries, d.attempts, d.memory,
                  '', d.due_at
             FROM tarry.delivery AS d
            WHERE w.stream = 'waiting' AND -d.lane = -w.lane AND d.state = 'waiting'
              AND d.due_at <= $7::float8 AND (d.due_at, d.seq) > (w.due_after, w.after)
            ORDER BY d.due_at, d.seq LIMIT w.most)
          UNION ALL
          (SELECT d.seq, d.message, d.accepted_at, d.due_at, d.tries, d.attempts, d.memory,
                  '', d.due_at
             FROM tarry.delivery AS d
            WHERE w.stream = 'early' AND ~d.lane = ~w.lane AND d.state = 'waiting'
              AND d.reason <> 'scheduled' AND (d.due_at, d.seq) > (w.due_after, w.after)
            ORDER BY d.due_at, d.seq LIMIT w.most)
          UNION ALL
          (SELECT 0, r.message, NULL, NULL, 0, 0, NULL, r.id, NULL
             FROM tarry.resend AS r
            WHERE w.stream = 'resend' AND r.lane = w.lane
            ORDER BY r.id LIMIT w.most)
      ) AS d ON true
      LEFT JOIN LATERAL (
          SELECT * FROM tarry.message AS m
           WHERE m.id = d.message AND m.application = w.application LIMIT 1
      ) AS m ON true
)
SELECT * FROM found
 WHERE nth = 1 OR coalesce(bytes, 0) < $8::bigint
 ORDER BY place, by_due, seq, resend;

-- name: settle
-- Save the outcomes of deliveries, and count the ended ones: message and tries are the fence.
-- Deliveries are locked in the given order, then the states of lanes in order, including those in
-- `$12`, which the transaction changes later. Each delivery is found by its sequence number, and
-- its state is hidden from the planner: if few deliveries waited at the last ANALYZE, PostgreSQL
-- would read all deliveries that wait in the lane by now, for each of them.
WITH told AS (
    SELECT *
      FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[],
                  $7::bigint[], $8::bigint[], $9::float8[], $10::float8[], $11::float8[])
           WITH ORDINALITY AS t (lane, seq, message, tries, state, reason, attempts, tried, due_at,
                                 memory, ended_at, place)
), made AS (
    UPDATE tarry.delivery AS d
       SET state = t.state, reason = t.reason, attempts = t.attempts, tries = d.tries + t.tried,
           due_at = t.due_at, memory = t.memory, ended_at = t.ended_at
      FROM told AS t
     WHERE d.lane = t.lane AND d.seq = t.seq AND d.message = t.message AND d.tries = t.tries
       AND d.state || '' IN ('ready', 'waiting')
    RETURNING t.place, d.lane, d.state
), ended AS (
    SELECT lane, count(*) AS many FROM made
     WHERE state NOT IN ('ready', 'waiting') GROUP BY lane
), locked AS (
    SELECT s.lane, n.many
      FROM tarry.lane_state AS s
      JOIN (SELECT lane, sum(many) AS many
              FROM (SELECT lane, many FROM ended
                    UNION ALL SELECT lane, 0 FROM unnest($12::bigint[]) AS also (lane)) AS needed
             GROUP BY lane) AS n ON n.lane = s.lane
     ORDER BY s.lane
       FOR NO KEY UPDATE OF s
), counted AS (
    UPDATE tarry.lane_state AS s SET ended = s.ended + l.many FROM locked AS l
     WHERE s.lane = l.lane AND l.many > 0
)
SELECT place - 1 AS place FROM made;

-- name: settle_late
-- Count tries of deliveries that ended during the attempt, if not counted yet. The deliveries must
-- be locked already, because the states of lanes are.
UPDATE tarry.delivery AS d
   SET tries = d.tries + 1
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) WITH ORDINALITY
    AS t (lane, seq, message, tries, place)
 WHERE d.lane = t.lane AND d.seq = t.seq AND d.message = t.message AND d.tries = t.tries
   AND d.state || '' NOT IN ('ready', 'waiting')
RETURNING t.place - 1 AS place;

-- name: settle_resent
-- Delete resends that were sent, in order.
WITH made AS (
    SELECT r.lane, r.id
      FROM unnest($1::bigint[], $2::text[]) AS made (lane, id)
      JOIN tarry.resend AS r ON r.lane = made.lane AND r.id = made.id
     ORDER BY r.lane, r.id
       FOR UPDATE OF r
)
DELETE FROM tarry.resend AS r USING made AS m WHERE r.lane = m.lane AND r.id = m.id
RETURNING r.lane, r.id;

-- name: settle_places
-- The sequence numbers of messages in lanes, NULL if there is none; the messages are locked until
-- the commit. The places are not joined: a join would use the message as it was before the wait for
-- its lock.
SELECT told.lane, m.id AS message, m.seqs[array_position(m.lanes, told.lane)] AS seq
  FROM unnest($1::bigint[], $2::text[]) AS told (lane, message)
  JOIN tarry.message AS m ON m.id = told.message
 ORDER BY m.id
   FOR NO KEY UPDATE OF m;

-- name: settle_hold
-- Lock deliveries until the commit, in order.
SELECT d.seq
  FROM unnest($1::bigint[], $2::bigint[]) AS told (lane, seq)
  JOIN tarry.delivery AS d ON d.lane = told.lane AND d.seq = told.seq
 ORDER BY d.lane, d.seq
   FOR NO KEY UPDATE OF d;

-- name: settle_lanes
-- Lock lanes until the commit, in order.
SELECT number FROM tarry.lane WHERE number = ANY($1::bigint[]) ORDER BY number FOR NO KEY UPDATE;

-- name: settle_added
-- Add ended deliveries of resent messages to lanes that had none, and save their places.
WITH new AS (
    SELECT *
      FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[],
                  $7::float8[], $8::float8[])
        AS new (lane, seq, message, state, reason, tries, accepted_at, ended_at)
), places AS (
    SELECT message, array_agg(lane ORDER BY lane) AS lanes, array_agg(seq ORDER BY lane) AS seqs
      FROM new GROUP BY message
), placed AS (
    UPDATE tarry.message AS m
       SET lanes = m.lanes || p.lanes, seqs = m.seqs || p.seqs
      FROM places AS p
     WHERE m.id = p.message
)
INSERT INTO tarry.delivery (lane, seq, message, state, reason, tries, accepted_at, ended_at)
SELECT lane, seq, message, state, reason, tries, accepted_at, ended_at FROM new;

-- name: settle_arrived
-- Mark failed or skipped deliveries as delivered after a resend, by the places in the messages'
-- rows.
UPDATE tarry.delivery AS d
   SET state = 'delivered', reason = 'delivered', ended_at = told.at
  FROM unnest($1::bigint[], $2::text[], $3::float8[]) AS told (lane, message, at)
  JOIN tarry.message AS m ON m.id = told.message
 CROSS JOIN LATERAL unnest(m.lanes, m.seqs) AS place (lane, seq)
 WHERE place.lane = told.lane AND d.lane = place.lane AND d.seq = place.seq
   AND d.state IN ('failed', 'skipped');

-- name: settle_attempts
-- Save an attempt.
INSERT INTO tarry.attempt (id, lane, message, number, at, took, url, status, kind, detail, body,
                           trigger, counted, policy, now, draw, decision, sealed_with)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18);

-- name: settle_known
-- Save the learned states of lanes.
WITH known AS (
    SELECT k.*
      FROM tarry.lane_state AS s
      JOIN unnest($1::bigint[], $2::bytea[], $3::text[], $4::float8[], $5::float8[], $6::bigint[],
                  $7::float8[]) AS k (lane, pace, origin, accepted_at, failing_since, failures, warned)
        ON k.lane = s.lane
     ORDER BY s.lane
       FOR NO KEY UPDATE OF s
)
UPDATE tarry.lane_state AS s
   SET pace = k.pace, origin = k.origin, accepted_at = k.accepted_at,
       failing_since = k.failing_since, failures = k.failures, warned = k.warned
  FROM known AS k
 WHERE s.lane = k.lane;

-- name: settle_applications
-- Raise the versions of lanes' applications because of their endpoints, and lock them until the
-- commit in order.
WITH held AS (
    SELECT id FROM tarry.application
     WHERE id = ANY(ARRAY(SELECT application FROM tarry.lane WHERE number = ANY($1::bigint[])))
     ORDER BY id
       FOR NO KEY UPDATE
)
UPDATE tarry.application AS a SET version = a.version + 1 FROM held AS h WHERE a.id = h.id;

-- name: settle_standing
-- The endpoints of lanes that are not deleted, locked until the commit in order.
SELECT * FROM tarry.endpoint
 WHERE lane = ANY($1::bigint[]) AND standing <> 'deleted'
 ORDER BY lane
   FOR UPDATE;

-- name: settle_notices
-- Save a notice.
INSERT INTO tarry.notice (id, application, endpoint, kind, facts, at)
VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (id) DO UPDATE
   SET application = excluded.application, endpoint = excluded.endpoint, kind = excluded.kind,
       facts = excluded.facts, at = excluded.at;

-- name: expire
-- End deliveries that are too old, oldest first.
WITH old AS (
    SELECT seq FROM tarry.delivery
     WHERE @lane = $1 AND state IN ('ready', 'waiting') AND accepted_at < $2
     ORDER BY accepted_at, seq
     LIMIT $4
), held AS (
    SELECT seq, state FROM tarry.delivery
     WHERE lane = $1 AND seq = ANY(ARRAY(SELECT seq FROM old))
     ORDER BY seq
       FOR UPDATE
)
UPDATE tarry.delivery
   SET state = 'failed', reason = $5, due_at = NULL, ended_at = $3
 WHERE lane = $1 AND seq = ANY(ARRAY(SELECT seq FROM held WHERE state IN ('ready', 'waiting')))
RETURNING seq;

-- name: origins
-- The records about these origins.
SELECT origin, known FROM tarry.origin WHERE origin = ANY($1::text[]);

-- name: learn
-- Save records about origins, unless one is not as expected; return the saved ones.
INSERT INTO tarry.origin AS o (origin, known)
SELECT origin, known FROM unnest($1::text[], $2::bytea[]) AS new (origin, known)
 ORDER BY origin COLLATE "C"
    ON CONFLICT (origin) DO UPDATE SET known = excluded.known
 WHERE o.known = coalesce(($3::bytea[])[array_position($1::text[], o.origin)], o.known)
RETURNING origin;

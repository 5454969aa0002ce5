-- Lists. Each reads an index between two keys, both exclusive; the order can be reversed. Long
-- lists return a key, whether the row fits the filter, and the size of its payload if the list has
-- payloads: the rest is read by key.

-- part: message_fits
-- Whether a message has the requested channel, tag and one of the event types.
($5::text IS NULL OR $5 = ANY(m.channels))
       AND ($6::text IS NULL OR $6 = ANY(m.tags))
       AND ($7::text[] IS NULL OR m.event_type = ANY($7))

-- part: attempt_fits
-- Whether an attempt has the requested result and lane, and its message fits.
{message_fits}
       AND ($8::boolean IS NULL OR (a.kind IS NULL) = $8)
       AND ($9::bigint IS NULL OR coalesce(a.status, 0) / 100 * 100 = $9)
       AND ($10::bigint IS NULL OR a.lane = $10)

-- name: page_applications
-- An environment's applications.
SELECT * FROM tarry.application
 WHERE environment = $1 AND deleted_at IS NULL AND id > $2 AND id < $3
 ORDER BY id
 LIMIT $4;

-- name: page_endpoints
-- An application's endpoints.
SELECT * FROM tarry.endpoint
 WHERE application = $1 AND standing <> 'deleted' AND id > $2 AND id < $3
 ORDER BY id
 LIMIT $4;

-- name: page_messages
-- An application's messages, and whether each has the requested channel, tag and event type. The
-- rows are compared so that no other index fits: by id alone, the messages of all tenants would be
-- read.
SELECT id AS key, id AS mark,
       {message_fits} AS fits,
       coalesce(octet_length(payload), 0) AS size
  FROM tarry.message AS m
 WHERE (application, id) > ($1, $2) AND (application, id) < ($1, $3)
 ORDER BY application, id
 LIMIT $4;

-- name: page_messages_found
-- Messages by id.
SELECT * FROM tarry.message WHERE id = ANY($1::text[]);

-- name: page_attempts_to_messages
-- Messages by id, without their payloads.
SELECT id, application, event_type, NULL::bytea AS payload, event_id, channels, tags, accepted_at,
       deliver_at, payload_until, content_type, chain, NULL::text AS sealed_with
  FROM tarry.message
 WHERE id = ANY($1::text[]);

-- name: page_deliveries_to
-- A lane's deliveries, and whether each has the requested state, tries, message and range of ids.
SELECT d.seq AS key, d.message AS mark,
       {message_fits}
       AND d.message > $8 AND d.message < $9
       AND ($10::text[] IS NULL OR d.state = ANY($10))
       AND ($11::boolean IS NULL OR (d.tries > 0) = $11) AS fits,
       coalesce(octet_length(m.payload), 0) AS size
  FROM tarry.delivery AS d
  JOIN tarry.message AS m ON m.id = d.message
 WHERE d.lane = $1 AND d.seq > $2 AND d.seq < $3
 ORDER BY d.seq
 LIMIT $4;

-- name: page_deliveries_to_undelivered
-- The same for deliveries in all states but delivered, by three indexes that contain no others.
SELECT d.seq AS key, d.message AS mark,
       m.id IS NOT NULL
       AND {message_fits}
       AND d.message > $8 AND d.message < $9
       AND d.state = ANY($10::text[])
       AND ($11::boolean IS NULL OR (d.tries > 0) = $11) AS fits,
       coalesce(octet_length(m.payload), 0) AS size
  FROM (
      (SELECT * FROM tarry.delivery
        WHERE +lane = $1 AND state = 'ready' AND seq > $2 AND seq < $3
        ORDER BY seq
        LIMIT $4)
      UNION ALL
      (SELECT * FROM tarry.delivery
        WHERE +lane = $1 AND state IN ('waiting', 'failed') AND seq > $2 AND seq < $3
        ORDER BY seq
        LIMIT $4)
      UNION ALL
      (SELECT * FROM tarry.delivery
        WHERE +lane = $1 AND state IN ('skipped', 'cancelled', 'discarded')
          AND seq > $2 AND seq < $3
        ORDER BY seq
        LIMIT $4)
      ORDER BY seq
      LIMIT $4
  ) AS d
  LEFT JOIN tarry.message AS m ON m.id = d.message
 ORDER BY d.seq
 LIMIT $4;

-- name: page_deliveries_to_found
-- Deliveries of a lane by sequence number.
SELECT * FROM tarry.delivery WHERE lane = $1 AND seq = ANY($2::bigint[]);

-- name: page_deliveries_to_mark
-- The sequence number of a message in a lane.
SELECT d.seq
  FROM tarry.message AS m
 CROSS JOIN LATERAL unnest(m.lanes, m.seqs) AS place (lane, seq)
  JOIN tarry.delivery AS d ON d.lane = place.lane AND d.seq = place.seq
 WHERE place.lane = $1 AND m.id = $2;

-- name: page_deliveries_to_last
-- The last sequence number of a lane.
SELECT seq FROM tarry.delivery WHERE lane = $1 ORDER BY seq DESC LIMIT 1;

-- name: page_deliveries_to_near
-- The first delivery from a sequence number on: its message, and when it was accepted.
SELECT message, accepted_at FROM tarry.delivery
 WHERE lane = $1 AND seq >= $2
 ORDER BY seq
 LIMIT 1;

-- name: page_attempts_to
-- Attempts in a lane, and whether each has the requested result and a message that fits.
SELECT a.id AS key, a.id AS mark,
       {attempt_fits} AS fits,
       0 AS size
  FROM tarry.attempt AS a
  JOIN tarry.message AS m ON m.id = a.message
 WHERE a.lane = $1 AND a.id > $2 AND a.id < $3
 ORDER BY a.id
 LIMIT $4;

-- name: page_attempts_to_found
-- Attempts in a lane by id, each looked up by itself: otherwise PostgreSQL reads all attempts of a
-- lane that it expects to be small.
SELECT a.*
  FROM unnest($2::text[]) AS asked (id)
 CROSS JOIN LATERAL (
      SELECT * FROM tarry.attempt AS a WHERE a.lane = $1 AND a.id = asked.id LIMIT 1
 ) AS a;

-- name: page_attempts_of
-- Attempts at a message, and whether each has the requested result and the message fits.
SELECT a.id AS key, a.id AS mark,
       {attempt_fits} AS fits,
       0 AS size
  FROM tarry.attempt AS a
  JOIN tarry.message AS m ON m.id = a.message
 WHERE a.message = $1 AND a.id > $2 AND a.id < $3
 ORDER BY a.id
 LIMIT $4;

-- name: get_attempt
-- Attempts at a message by id.
SELECT * FROM tarry.attempt WHERE message = $1 AND id = ANY($2::text[]);

-- name: get_attempt_endpoints
-- The endpoints of lanes, deleted ones included.
SELECT * FROM tarry.endpoint WHERE lane = ANY($1::bigint[]);

-- name: expunge_attempt
-- Replace the stored response of an attempt.
UPDATE tarry.attempt SET body = $3, sealed_with = NULL
 WHERE message = $1 AND id = $2
RETURNING id;

-- name: expunge_attempt_application
-- The application of a message.
SELECT application FROM tarry.message WHERE id = $1;

-- name: page_tasks
-- An environment's tasks of one kind or all, finished or not.
SELECT * FROM tarry.task
 WHERE environment = $1 AND id > $2 AND id < $3
   AND ($5::text IS NULL OR work = $5)
   AND ($6::boolean IS NULL OR (finished_at IS NOT NULL) = $6)
 ORDER BY id
 LIMIT $4;

-- name: count_deliveries
-- Of a piece of a lane's deliveries: how many were accepted in a time range, by state and tries.
SELECT d.state, d.tries > 0 AS tried,
       count(*) FILTER (WHERE d.accepted_at >= $4 AND d.accepted_at < $5) AS counted,
       count(*) AS rows_read, max(d.seq) AS last
  FROM (SELECT * FROM tarry.delivery
         WHERE lane = $1 AND seq > $2
         ORDER BY seq
         LIMIT $3) AS d
 GROUP BY d.state, d.tries > 0;

-- name: count_attempts
-- Of a piece of a lane's attempts between two ids: how many succeeded and how many failed.
SELECT a.kind IS NULL AS what, count(*) AS rows_read, max(a.id) AS last
  FROM (SELECT id, kind FROM tarry.attempt
         WHERE lane = $1 AND id > $2 AND id < $3
         ORDER BY id
         LIMIT $4) AS a
 GROUP BY a.kind IS NULL;

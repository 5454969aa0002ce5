-- part: waits
-- A message has a live delivery or a resend. Its deliveries are found by their places alone: with
-- their state in the condition too, PostgreSQL may read all waiting deliveries of a lane to find
-- one.
(EXISTS (SELECT FROM unnest(m.lanes, m.seqs) AS place (lane, seq)
                 WHERE (SELECT d.state FROM tarry.delivery AS d
                         WHERE d.lane = place.lane AND d.seq = place.seq) IN ('ready', 'waiting'))
        OR EXISTS (SELECT FROM tarry.resend AS r WHERE r.message = m.id))

-- name: sweep_messages
-- Old messages after one, and whether each has no live delivery and no resend, without those whose
-- partitions will be dropped.
SELECT m.accepted_at, m.id,
       NOT {waits} AS over
  FROM (SELECT * FROM tarry.message
         WHERE accepted_at < $1 AND accepted_at >= $2 AND (accepted_at, id) > ($2, $3)
           AND (id < $5 OR id >= $6)
         ORDER BY accepted_at, id
         LIMIT $4) AS m
 ORDER BY m.accepted_at, m.id;

-- name: sweep_full
-- The same for messages that still have their payload.
SELECT m.accepted_at, m.id,
       NOT {waits} AS over
  FROM (SELECT * FROM tarry.message
         WHERE accepted_at < $1 AND accepted_at >= $2 AND (accepted_at, id) > ($2, $3)
           AND (id < $5 OR id >= $6)
           AND (payload IS NULL) = false
         ORDER BY accepted_at, id
         LIMIT $4) AS m
 ORDER BY m.accepted_at, m.id;

-- name: sweep_expired
-- The same for messages whose `payload_until` is before a time.
SELECT m.payload_until AS accepted_at, m.id,
       NOT {waits} AS over
  FROM (SELECT * FROM tarry.message
         WHERE payload_until < $1 AND payload_until >= $2 AND (payload_until, id) > ($2, $3)
           AND (id < $5 OR id >= $6)
           AND payload_until IS NOT NULL AND payload IS NOT NULL
         ORDER BY payload_until, id
         LIMIT $4) AS m
 ORDER BY m.payload_until, m.id;

-- name: sweep_leaving_messages
-- Messages of a partition after one, and whether each must be kept.
SELECT m.id, m.application, m.event_id, m.key, m.lanes, m.seqs,
       m.accepted_at >= $4 OR {waits} AS kept
  FROM (SELECT * FROM tarry.message
         WHERE id >= $1 AND id < $2 AND id > $3
         ORDER BY id
         LIMIT $5) AS m
 ORDER BY m.id;

-- name: sweep_held
-- These messages, locked until the commit; those that others have locked are skipped.
SELECT id, application, event_id, key, lanes, seqs
  FROM tarry.message
 WHERE id = ANY($1::text[])
   FOR UPDATE SKIP LOCKED;

-- name: sweep_live
-- Those of these messages, which are locked by now, that have a live delivery or a resend after
-- all.
SELECT m.id
  FROM tarry.message AS m
 WHERE m.id = ANY($1::text[])
   AND {waits};

-- name: sweep_deliveries
-- Delete deliveries, locked in order.
WITH held AS (
    SELECT d.lane, d.seq
      FROM unnest($1::bigint[], $2::bigint[]) AS old (lane, seq)
      JOIN tarry.delivery AS d ON d.lane = old.lane AND d.seq = old.seq
     ORDER BY d.lane, d.seq
       FOR UPDATE OF d
)
DELETE FROM tarry.delivery AS d USING held AS h WHERE d.lane = h.lane AND d.seq = h.seq
RETURNING d.message, d.ended_at;

-- name: sweep_attempts
-- Delete the attempts of messages.
DELETE FROM tarry.attempt WHERE message = ANY($1::text[]) RETURNING id;

-- name: sweep_message_keys
-- Delete the keys of messages.
DELETE FROM tarry.key AS k
 USING unnest($1::text[], $2::text[]) AS old (application, key), tarry.application AS a
 WHERE a.id = old.application AND k.environment = a.environment AND k.key = old.key
   AND k.message = ANY($3::text[]);

-- name: sweep_events
-- Delete the event ids of messages.
DELETE FROM tarry.event AS e
 USING unnest($1::text[], $2::text[]) AS old (application, event_id)
 WHERE e.application = old.application AND e.event_id = old.event_id;

-- name: sweep_gone
-- Delete messages.
DELETE FROM tarry.message WHERE id = ANY($1::text[]);

-- name: sweep_payloads
-- Delete the payloads of these messages, if they still have no live delivery and no resend.
WITH old AS (
    SELECT m.id
      FROM tarry.message AS m
     WHERE m.id = ANY($1::text[]) AND m.payload IS NOT NULL AND NOT {waits}
       FOR UPDATE OF m SKIP LOCKED
)
UPDATE tarry.message SET payload = NULL, sealed_with = NULL
 WHERE id = ANY(ARRAY(SELECT id FROM old))
RETURNING id;

-- name: sweep_keys
-- Delete old keys.
DELETE FROM tarry.key
 WHERE ctid = ANY(ARRAY(SELECT ctid FROM tarry.key
                         WHERE accepted_at < $1 ORDER BY accepted_at LIMIT $2
                           FOR UPDATE SKIP LOCKED))
RETURNING key;

-- name: sweep_notices
-- Delete old notices.
DELETE FROM tarry.notice
 WHERE id = ANY(ARRAY(SELECT id FROM tarry.notice WHERE at < $1 ORDER BY at LIMIT $2
                         FOR UPDATE SKIP LOCKED))
RETURNING id;

-- name: sweep_tasks
-- Delete tasks that were finished long ago.
DELETE FROM tarry.task
 WHERE id = ANY(ARRAY(SELECT id FROM tarry.task WHERE finished_at < $1 ORDER BY finished_at LIMIT $2
                         FOR UPDATE SKIP LOCKED))
RETURNING id;

-- name: sweep_refused
-- Delete messages of the outbox that were refused long ago.
DELETE FROM tarry.outbox_refused
 WHERE ctid = ANY(ARRAY(SELECT ctid FROM tarry.outbox_refused
                         WHERE refused_at < $1 ORDER BY refused_at LIMIT $2
                           FOR UPDATE SKIP LOCKED))
RETURNING id;

-- name: sweep_claims
-- Delete claims that first came long ago.
DELETE FROM tarry.claim
 WHERE ctid = ANY(ARRAY(SELECT ctid FROM tarry.claim WHERE at < $1 ORDER BY at LIMIT $2
                           FOR UPDATE SKIP LOCKED))
RETURNING key;

-- name: sweep_portal_keys
-- Delete keys to one application that ended long ago.
DELETE FROM tarry.api_key
 WHERE id = ANY(ARRAY(SELECT id FROM tarry.api_key
                       WHERE application IS NOT NULL AND ends_at < $1 ORDER BY ends_at LIMIT $2
                         FOR UPDATE SKIP LOCKED))
RETURNING id;

-- name: read_sealed
-- Endpoints with sealed values, after one.
SELECT * FROM tarry.endpoint
 WHERE standing <> 'deleted' AND id > $1
   AND (headers IS NOT NULL OR json_array_length(secrets) > 0)
 ORDER BY id
 LIMIT $2;

-- name: check
-- Write a value that means nothing.
UPDATE tarry.migration SET number = number WHERE number = $1 RETURNING number;

-- name: check_schema
-- The version of the schema.
SELECT coalesce(max(number), 0) AS number FROM tarry.migration;

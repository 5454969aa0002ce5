-- name: add_applications
-- The applications of messages, and how many of their deliveries wait if that is limited.
SELECT a.id, a.environment, a.version, coalesce(a.most_waiting, $2::bigint) AS most_waiting,
       CASE WHEN coalesce(a.most_waiting, $2::bigint) IS NOT NULL THEN (
           SELECT coalesce(sum(l.added - s.ended), 0)::bigint
             FROM tarry.lane AS l JOIN tarry.lane_state AS s ON s.lane = l.number
            WHERE l.application = a.id
       ) END AS waiting
  FROM tarry.application AS a
 WHERE a.id = ANY($1::text[]) AND a.deleted_at IS NULL;

-- name: add_held
-- Lock these applications until the commit, so that their endpoints cannot change.
SELECT id FROM tarry.application WHERE id = ANY($1::text[]) ORDER BY id FOR SHARE;

-- name: add_endpoints
-- The endpoints that messages of these applications go to, with the versions of their lanes.
SELECT e.application, e.id, e.lane, e.standing, e.event_types, e.channels, l.version
  FROM tarry.endpoint AS e JOIN tarry.lane AS l ON l.number = e.lane
 WHERE e.application = ANY($1::text[]) AND e.standing <> 'deleted';

-- name: add_keys
-- Insert keys that are free. If another transaction is inserting one of them, this waits for its
-- end. The keys are inserted in order, so that two transactions do not wait for each other.
INSERT INTO tarry.key (environment, key, fingerprint, message, accepted_at)
SELECT environment, key, fingerprint, message, accepted_at
  FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::float8[])
    AS new (environment, key, fingerprint, message, accepted_at)
 ORDER BY environment COLLATE "C", key COLLATE "C"
    ON CONFLICT DO NOTHING
RETURNING message;

-- name: add_known
-- The messages that these keys belong to.
SELECT k.environment AS key_environment, k.key AS known_key, k.fingerprint, m.*
  FROM unnest($1::text[], $2::text[]) AS asked (environment, key)
  JOIN tarry.key AS k ON k.environment = asked.environment AND k.key = asked.key
  JOIN tarry.message AS m ON m.id = k.message;

-- name: add_events
-- Insert event ids that are free, in the same way.
INSERT INTO tarry.event (application, event_id, message)
SELECT application, event_id, message
  FROM unnest($1::text[], $2::text[], $3::text[]) AS new (application, event_id, message)
 ORDER BY application COLLATE "C", event_id COLLATE "C"
    ON CONFLICT DO NOTHING
RETURNING message;

-- name: add_refused_keys
-- Delete the keys of messages that are not accepted.
DELETE FROM tarry.key AS k
 USING unnest($1::text[], $2::text[]) AS refused (environment, key)
 WHERE k.environment = refused.environment AND k.key = refused.key;

-- name: add_refused_events
-- Delete the event ids of messages that are not accepted.
DELETE FROM tarry.event AS e
 USING unnest($1::text[], $2::text[]) AS refused (application, event_id)
 WHERE e.application = refused.application AND e.event_id = refused.event_id;

-- name: add_lanes
-- Assign sequence numbers and lock the lanes until the commit, in order; return which were at rest.
WITH grown AS (
    SELECT lane, many, live
      FROM unnest($1::bigint[], $2::bigint[], $3::boolean[]) AS grown (lane, many, live)
), before AS (
    SELECT l.number, l.awake AND NOT l.dozing AS awake, g.many, g.live
      FROM tarry.lane AS l JOIN grown AS g ON g.lane = l.number
     ORDER BY l.number
       FOR NO KEY UPDATE OF l
)
UPDATE tarry.lane AS l
   SET added = l.added + b.many,
       awake = l.awake OR b.live,
       dozing = l.dozing AND NOT b.live
  FROM before AS b
 WHERE l.number = b.number
RETURNING l.number, l.shard, l.added - b.many AS added, l.version, NOT b.awake AND b.live AS woken;

-- name: add_messages
-- Save a message; `lanes` and `seqs` are the places of its deliveries.
INSERT INTO tarry.message (id, application, event_type, payload, event_id, channels, tags,
                           accepted_at, deliver_at, payload_until, content_type, chain,
                           sealed_with, key, lanes, seqs)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16);

-- name: add_deliveries
-- Add a delivery to its lane.
INSERT INTO tarry.delivery (lane, seq, message, state, reason, due_at, accepted_at, ended_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: add_ended
-- Count deliveries that have ended, by lane, in order.
WITH ended AS (
    SELECT s.lane, e.many
      FROM tarry.lane_state AS s
      JOIN unnest($1::bigint[], $2::bigint[]) AS e (lane, many) ON e.lane = s.lane
     ORDER BY s.lane
       FOR NO KEY UPDATE OF s
)
UPDATE tarry.lane_state AS s
   SET ended = s.ended + e.many
  FROM ended AS e
 WHERE s.lane = e.lane;

-- name: expunge
-- Delete a payload.
UPDATE tarry.message SET payload = NULL, sealed_with = NULL
 WHERE application = $1 AND id = $2
RETURNING id;

-- Leases of shards, and the lanes that are awake or were woken.

-- name: lease_owned
-- How many shards a worker owns.
SELECT count(*) FROM shard WHERE worker = :worker AND until > :now;

-- name: lease
-- Take shards that are free or whose lease has ended, each under a new epoch. A lease that ends too
-- far ahead has ended too: the clock was set back since.
UPDATE shard
   SET epoch = epoch + 1, clean = worker IS NULL, worker = :worker, until = :until
 WHERE number IN (SELECT number FROM shard WHERE until <= :now OR until > :latest
                   ORDER BY number LIMIT :most)
RETURNING number, epoch, clean;

-- name: lease_end
-- End the leases of workers in other processes: they no longer have the dispatcher's lock.
UPDATE shard SET until = 0 WHERE until > 0 AND worker NOT IN (SELECT value FROM json_each(:here));

-- name: lease_forget
-- Remove live workers of other processes, and those whose time is too far ahead.
DELETE FROM worker WHERE id NOT IN (SELECT value FROM json_each(:here)) OR until > :latest;

-- name: lease_alive
-- Let a worker count as alive for a while.
INSERT INTO worker (id, until) VALUES (:worker, :until)
    ON CONFLICT (id) DO UPDATE SET until = excluded.until;

-- name: settle_held
-- The shards and epochs of those leases, given as [shard, epoch, worker], that were not taken or
-- given back since.
SELECT json_group_object(shard.number, shard.epoch)
  FROM json_each(:leases) AS told
 CROSS JOIN shard ON shard.number = told.value ->> 0
 WHERE shard.epoch = told.value ->> 1 AND shard.worker = told.value ->> 2;

-- name: renew
-- Extend the lease of a shard.
UPDATE shard SET until = :until WHERE number = :shard;

-- name: release
-- Give a shard back.
UPDATE shard SET worker = NULL, until = 0 WHERE number = :shard;

-- name: release_left
-- The workers that still own a shard.
SELECT DISTINCT worker FROM shard WHERE worker IS NOT NULL;

-- name: server
-- How many workers are alive.
SELECT count(*) FROM worker WHERE until > :now;

-- name: awake
-- The lanes of shards that are not at rest.
SELECT lane.number
  FROM json_each(:shards) AS asked
  JOIN lane ON lane.shard = asked.value AND lane.awake;

-- name: woken_any
-- Whether any lane was woken.
SELECT 1 FROM wake LIMIT 1;

-- name: woken_look
-- The shards with lanes that were woken.
SELECT DISTINCT shard FROM wake;

-- name: woken
-- The lanes of shards that were woken since the last call.
DELETE FROM wake
 WHERE shard IN (SELECT value FROM json_each(:shards))
RETURNING lane;

-- name: woken_awake
-- Mark a lane as neither at rest nor dozing.
UPDATE lane SET awake = 1, dozing = 0 WHERE number = :lane AND (NOT awake OR dozing);

-- name: advance_awake
-- Whether a lane is awake and does not doze.
SELECT awake AND NOT dozing FROM lane WHERE number = :lane;

-- name: woken_tell
-- Save a wake-up for a lane's owner.
INSERT OR IGNORE INTO wake (shard, lane) SELECT shard, number FROM lane WHERE number = :lane;

-- name: settle_shard
-- The shard of a lane.
SELECT shard FROM lane WHERE number = :lane;

-- name: rest
-- Put a lane to rest that has no live delivery, no resend, and no more deliveries than its owner
-- knows.
UPDATE lane
   SET awake = 0
 WHERE number = :lane
   AND added <= :added
   AND added = (SELECT ended FROM lane_state WHERE lane = :lane)
   AND NOT EXISTS (SELECT 1 FROM resend WHERE lane = :lane)
RETURNING number;

-- name: rest_doze
-- Let the next delivery wake a lane, unless it has more deliveries than its owner knows.
UPDATE lane SET dozing = 1 WHERE number = :lane AND added <= :added RETURNING number;

-- name: lanes
-- A lane with its endpoint and application, and the environment's policy.
SELECT endpoint.document, application.document, lane_state.known, lane.added, lane_state.ended,
       lane.version, environment.policy
  FROM endpoint
  JOIN application ON application.id = endpoint.application
  LEFT JOIN environment ON environment.id = application.environment
  JOIN lane ON lane.number = endpoint.lane
  JOIN lane_state ON lane_state.lane = endpoint.lane
 WHERE endpoint.lane = :lane;

-- name: get_lane
-- An endpoint's lane.
SELECT endpoint.document, application.document, lane_state.known, lane.added, lane_state.ended,
       lane.version, environment.policy
  FROM endpoint
  JOIN application ON application.id = endpoint.application
  LEFT JOIN environment ON environment.id = application.environment
  JOIN lane ON lane.number = endpoint.lane
  JOIN lane_state ON lane_state.lane = endpoint.lane
 WHERE endpoint.id = :endpoint AND endpoint.application = :application;

-- name: origins
-- The records about these origins.
SELECT origin, known FROM origin WHERE origin IN (SELECT value FROM json_each(:names));

-- name: learn
-- Save the record about an origin.
INSERT INTO origin (origin, known) VALUES (:origin, :known)
    ON CONFLICT (origin) DO UPDATE SET known = excluded.known;

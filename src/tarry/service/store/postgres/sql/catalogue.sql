-- name: read_environments
-- Every environment.
SELECT id, policy FROM tarry.environment ORDER BY id;

-- name: create_environment
-- Create an environment, unless it exists.
INSERT INTO tarry.environment (id, policy) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: put_environment
-- Create an environment or change its policy.
INSERT INTO tarry.environment (id, policy) VALUES ($1, $2)
    ON CONFLICT (id) DO UPDATE SET policy = excluded.policy;

-- name: put_environment_patience
-- Limit the wait for the next lock: all wake-ups wait behind it. A vacuum gives way after a second.
SELECT set_config('lock_timeout', '2s', true);

-- name: put_environment_lock
-- Block wake-ups until the commit: otherwise the owner of a lane woken now could read the old
-- policy, and would not be notified of the new one.
LOCK TABLE tarry.wake IN SHARE ROW EXCLUSIVE MODE;

-- name: put_environment_tell
-- Wake its lanes, except those at rest, whose owner reads the policy when they are woken.
WITH told AS (
    INSERT INTO tarry.wake (shard, lane)
    SELECT l.shard, l.number
      FROM tarry.application AS a
      JOIN tarry.lane AS l ON l.application = a.id AND l.awake
     WHERE a.environment = $1 AND a.deleted_at IS NULL
    RETURNING shard
)
SELECT pg_notify('tarry', shard::text) FROM (SELECT DISTINCT shard FROM told) AS shards;

-- name: get_environment
-- An environment's policy.
SELECT policy FROM tarry.environment WHERE id = $1;

-- name: put_application
-- Create or change an application, unless it is deleted; return its version.
INSERT INTO tarry.application (id, environment, name, uid, rate, policy, most_waiting, metadata,
                               created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (id) DO UPDATE
   SET environment = excluded.environment, uid = excluded.uid, name = excluded.name,
       rate = excluded.rate, policy = excluded.policy, most_waiting = excluded.most_waiting,
       metadata = excluded.metadata, created_at = excluded.created_at,
       updated_at = excluded.updated_at, version = application.version + 1
 WHERE application.deleted_at IS NULL
RETURNING version;

-- name: change_application
-- An application as it is stored, locked until the commit.
SELECT * FROM tarry.application WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE;

-- name: put_application_lanes
-- Raise the versions of an application and its lanes, and lock them until the commit.
WITH held AS (
    SELECT number FROM tarry.lane WHERE application = $1 ORDER BY number FOR NO KEY UPDATE
)
UPDATE tarry.lane AS l SET version = l.version + 1 FROM held AS h WHERE l.number = h.number
RETURNING l.number;

-- name: get_application
-- An application by id or, if there is none, by uid.
SELECT * FROM tarry.application
 WHERE environment = $1 AND deleted_at IS NULL AND (id = $2 OR uid = $2)
 ORDER BY id <> $2
 LIMIT 1;

-- name: put_endpoint_application
-- Raise an application's version because its endpoints changed, so that caches are refreshed.
UPDATE tarry.application SET version = version + 1
 WHERE id = $1 AND deleted_at IS NULL
RETURNING id;

-- name: put_endpoint_count
-- How many endpoints an application has that are not deleted. The application's row is locked by
-- then, so that nobody else adds one before the commit.
SELECT count(*) FROM tarry.endpoint WHERE application = $1 AND standing <> 'deleted';

-- name: put_endpoint_known
-- The endpoint as it is stored, locked until the commit.
SELECT * FROM tarry.endpoint WHERE id = $1 FOR UPDATE;

-- name: put_endpoint_lane
-- Create a lane, awake. Its version begins with the time: after a failover that lost a lane, another
-- one may get its number, and the lane's owner must notice that.
WITH made AS (
    INSERT INTO tarry.lane (application, shard, version) VALUES ($1, $2, $3) RETURNING number
)
INSERT INTO tarry.lane_state (lane) SELECT number FROM made RETURNING lane;

-- name: put_endpoint_changed
-- Raise a lane's version because its endpoint changed: a message that is being added is routed
-- again, and the lane's owner reads the endpoint again before it sends a message that was added
-- later.
UPDATE tarry.lane SET version = version + 1 WHERE number = $1;

-- name: put_endpoint
-- Add or change an endpoint.
INSERT INTO tarry.endpoint (id, application, lane, url, uid, description, event_types, channels,
                            rate, concurrency, fifo, blocking, policy, headers, secrets, metadata,
                            standing, parked, probed_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21)
    ON CONFLICT (id) DO UPDATE
   SET url = excluded.url, uid = excluded.uid, description = excluded.description,
       event_types = excluded.event_types, channels = excluded.channels, rate = excluded.rate,
       concurrency = excluded.concurrency, fifo = excluded.fifo, blocking = excluded.blocking,
       policy = excluded.policy, headers = excluded.headers, secrets = excluded.secrets,
       metadata = excluded.metadata, standing = excluded.standing, parked = excluded.parked,
       probed_at = excluded.probed_at,
       created_at = excluded.created_at, updated_at = excluded.updated_at;

-- name: get_endpoint
-- An endpoint by id or, if there is none, by uid.
SELECT * FROM tarry.endpoint
 WHERE application = $1 AND standing <> 'deleted' AND (id = $2 OR uid = $2)
 ORDER BY id <> $2
 LIMIT 1;

-- name: get_lane
-- The number of an endpoint's lane.
SELECT lane FROM tarry.endpoint WHERE application = $1 AND id = $2;

-- name: delete_endpoint_environment
-- The environment of an application, hidden or not.
SELECT environment FROM tarry.application WHERE id = $1;

-- name: delete_application
-- Hide an application.
UPDATE tarry.application SET deleted_at = $2, version = version + 1
 WHERE id = $1 AND deleted_at IS NULL
RETURNING environment;

-- name: delete_application_endpoints
-- Its endpoints that are not deleted yet, locked until the commit.
SELECT * FROM tarry.endpoint WHERE application = $1 AND standing <> 'deleted' ORDER BY id FOR UPDATE;

-- name: delete_application_lanes
-- Raise the versions of these endpoints' lanes, and lock them until the commit.
WITH held AS (
    SELECT number FROM tarry.lane WHERE number = ANY($1::bigint[]) ORDER BY number FOR NO KEY UPDATE
)
UPDATE tarry.lane AS l SET version = l.version + 1 FROM held AS h WHERE l.number = h.number;

-- name: put_policy
-- Save a policy document.
INSERT INTO tarry.policy (version, document) VALUES ($1, $2)
    ON CONFLICT (version) DO UPDATE SET document = excluded.document;

-- name: get_policy
-- A policy document.
SELECT document FROM tarry.policy WHERE version = $1;

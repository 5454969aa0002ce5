-- Environments, applications, endpoints and policies.

-- name: read_environments
-- Every environment.
SELECT id, policy FROM environment ORDER BY id;

-- name: create_environment
-- Create an environment, unless it exists.
INSERT INTO environment (id, policy) VALUES (:environment, :policy) ON CONFLICT DO NOTHING;

-- name: put_environment
-- Create an environment, or change its policy.
INSERT INTO environment (id, policy) VALUES (:environment, :policy)
    ON CONFLICT (id) DO UPDATE SET policy = excluded.policy;

-- name: put_environment_tell
-- Wake its lanes, except those at rest, whose owner reads the policy when they are woken. It
-- searches the lanes that are awake, which may be few of many.
INSERT OR IGNORE INTO wake (shard, lane)
SELECT lane.shard, lane.number
  FROM shard
 CROSS JOIN lane ON lane.shard = shard.number AND lane.awake
 CROSS JOIN endpoint ON endpoint.lane = lane.number
 CROSS JOIN application ON application.id = endpoint.application
 WHERE application.environment = :environment;

-- name: get_environment
-- An environment's policy document.
SELECT policy FROM environment WHERE id = :environment;

-- name: put_application
-- Add or change an application; a hidden one stays as it is.
INSERT INTO application (id, environment, uid, most_waiting, version, document)
VALUES (:id, :environment, :uid, :most_waiting, 1, :document)
    ON CONFLICT (id) DO UPDATE
   SET environment = excluded.environment, uid = excluded.uid, version = version + 1,
       most_waiting = excluded.most_waiting, document = excluded.document
 WHERE deleted_at IS NULL
RETURNING id;

-- name: change_application
-- An application as it is stored.
SELECT document FROM application WHERE id = :application AND deleted_at IS NULL;

-- name: put_endpoint_changed
-- Raise an application's version because one of its endpoints changed, so that caches are
-- refreshed.
UPDATE application SET version = version + 1 WHERE id = :application;

-- name: put_endpoint_lane_changed
-- Raise a lane's version because its endpoint or application changed, so that its owner reads it
-- again.
UPDATE lane SET version = version + 1 WHERE number = :lane;

-- name: get_application
-- The application with an id or, if there is none, a uid.
SELECT document
  FROM application
 WHERE environment = :environment AND deleted_at IS NULL AND id = :known_as
 UNION ALL
SELECT document
  FROM application
 WHERE environment = :environment AND deleted_at IS NULL AND uid = :known_as
 LIMIT 1;

-- name: put_endpoint_application
-- Whether there is such an application that is not hidden.
SELECT 1 FROM application WHERE id = :application AND deleted_at IS NULL;

-- name: put_endpoint_count
-- How many endpoints an application has that are not deleted.
SELECT count(*) FROM endpoint WHERE application = :application AND standing <> 'deleted';

-- name: put_application_lanes
-- The lanes of an application.
SELECT lane FROM endpoint WHERE application = :application ORDER BY lane;

-- name: delete_application
-- Hide an application.
UPDATE application
   SET deleted_at = :now, version = version + 1
 WHERE id = :application AND deleted_at IS NULL
RETURNING id;

-- name: put_endpoint_known
-- An endpoint, deleted or not.
SELECT document FROM endpoint WHERE id = :endpoint;

-- name: put_endpoint_lane
-- Create a lane, awake. Its version begins with the time: after a failover that lost a lane, another
-- one may get its number, and the lane's owner must notice that.
INSERT INTO lane (shard, version) VALUES (:shard, :version) RETURNING number;

-- name: put_endpoint_lane_state
-- Create the learned state of a new lane.
INSERT INTO lane_state (lane) VALUES (:lane);

-- name: put_endpoint
-- Add or change an endpoint.
INSERT INTO endpoint (id, application, uid, lane, standing, sealed, document)
VALUES (:id, :application, :uid, :lane, :standing, :sealed, :document)
    ON CONFLICT (id) DO UPDATE
   SET uid = excluded.uid, standing = excluded.standing, sealed = excluded.sealed,
       document = excluded.document;

-- name: get_endpoint
-- The endpoint with an id or, if there is none, a uid.
SELECT document
  FROM endpoint
 WHERE application = :application AND standing <> 'deleted' AND id = :known_as
 UNION ALL
SELECT document
  FROM endpoint
 WHERE application = :application AND standing <> 'deleted' AND uid = :known_as
 LIMIT 1;

-- name: delete_endpoint_environment
-- The environment of an application, hidden or not.
SELECT environment FROM application WHERE id = :application;

-- name: put_policy
-- Save a policy document under its version.
INSERT INTO policy (version, document) VALUES (:version, :document)
    ON CONFLICT (version) DO UPDATE SET document = excluded.document;

-- name: get_policy
-- The policy document of a version.
SELECT document FROM policy WHERE version = :version;

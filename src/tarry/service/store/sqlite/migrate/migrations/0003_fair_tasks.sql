-- Indexes for tenants' turns at tasks, and for the limit of pending replays of an endpoint.

ALTER TABLE task ADD COLUMN lane INTEGER NOT NULL DEFAULT 0;
UPDATE task SET lane = coalesce(document ->> 'lane', 0);

CREATE INDEX task_turn ON task (application, environment, created_at, id, shard, work)
 WHERE finished_at IS NULL;
CREATE INDEX task_pending ON task (lane, created_at, id) WHERE finished_at IS NULL;
DROP INDEX task_open;

PRAGMA user_version = 3;

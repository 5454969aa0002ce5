-- Indexes for tenants' turns at tasks, and for the limit of pending replays of an endpoint.

INSERT INTO tarry.migration (number, name) VALUES (3, 'fair_tasks');

CREATE INDEX task_turn ON tarry.task (application, environment, created_at, id)
    INCLUDE (shard) WHERE finished_at IS NULL;
CREATE INDEX task_pending ON tarry.task (lane, created_at, id) WHERE finished_at IS NULL;
DROP INDEX tarry.task_to_do;

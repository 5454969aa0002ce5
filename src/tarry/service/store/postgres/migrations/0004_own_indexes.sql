-- Each index of deliveries answers one question alone. Those that are found by a lane and a state have
-- an expression of the lane that no other index has: by the lane itself, PostgreSQL could answer by
-- the primary key. It did so once a backlog had drained, which leaves a large index with few rows, and
-- read all that had ever been delivered in the lane. Two indexes have the same expression only if no
-- row is in both of them, so that a question for the one can never be asked of the other.

INSERT INTO tarry.migration (number, name) VALUES (4, 'own_indexes');

DROP INDEX tarry.delivery_ready, tarry.delivery_waiting, tarry.delivery_early,
           tarry.delivery_stuck, tarry.delivery_old, tarry.delivery_dropped;

CREATE INDEX delivery_ready ON tarry.delivery ((+lane), seq) WHERE state = 'ready';
CREATE INDEX delivery_waiting ON tarry.delivery ((-lane), due_at, seq) WHERE state = 'waiting';
CREATE INDEX delivery_early ON tarry.delivery ((~lane), due_at, seq)
    WHERE state = 'waiting' AND reason <> 'scheduled';
CREATE INDEX delivery_stuck ON tarry.delivery ((+lane), seq) WHERE state IN ('waiting', 'failed');
CREATE INDEX delivery_old ON tarry.delivery ((@lane), accepted_at, seq)
    WHERE state IN ('ready', 'waiting');
CREATE INDEX delivery_dropped ON tarry.delivery ((+lane), seq)
    WHERE state IN ('skipped', 'cancelled', 'discarded');

-- Where rows are found by a lane and their numbers, let PostgreSQL plan for a large lane: beside many
-- small ones it expects any lane to be small, and read all of it to find ten of a million.
ALTER TABLE tarry.delivery ALTER COLUMN lane SET (n_distinct = 10);
ANALYZE tarry.delivery;

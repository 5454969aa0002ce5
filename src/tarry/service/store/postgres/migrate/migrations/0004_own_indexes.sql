-- Each index of deliveries serves one query only. Indexes on a lane and a state use an expression
-- of the lane that no other index has: with the plain lane, PostgreSQL could use the primary key.
-- It did so once a backlog had drained, which leaves a large index with few rows, and read all
-- deliveries that the lane ever had. Two indexes have the same expression only if no row is in both
-- of them, so that a query for one can never use the other.

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

-- For queries by a lane and sequence numbers, let PostgreSQL plan for a large lane: among many
-- small lanes it expects any lane to be small, and read a whole lane to find ten rows of a million.
ALTER TABLE tarry.delivery ALTER COLUMN lane SET (n_distinct = 10);
ANALYZE tarry.delivery;

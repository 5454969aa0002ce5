-- name: lease
-- Take shards that are free or whose lease has ended, except those that another worker is just
-- taking. A lease that ends more than $4 seconds ahead has ended too: the clock was set back since.
WITH alive AS (
    INSERT INTO tarry.worker (id, until)
    VALUES ($1, clock_timestamp() + $3::float8 * interval '1 second')
        ON CONFLICT (id) DO UPDATE SET until = excluded.until
), dead AS (
    DELETE FROM tarry.worker
     WHERE id <> $1 AND (until < clock_timestamp() - interval '1 hour'
                         OR until > clock_timestamp() + $4::float8 * interval '1 second')
), free AS (
    SELECT number, worker IS NULL AS clean
      FROM tarry.shard
     WHERE until <= clock_timestamp()
        OR until > clock_timestamp() + $4::float8 * interval '1 second'
     ORDER BY number
     LIMIT greatest(0, $2::bigint - (SELECT count(*) FROM tarry.shard
                                      WHERE worker = $1 AND until > clock_timestamp()))
       FOR UPDATE SKIP LOCKED
)
UPDATE tarry.shard AS s
   SET worker = $1, epoch = s.epoch + 1,
       until = clock_timestamp() + $3::float8 * interval '1 second'
  FROM free AS f
 WHERE s.number = f.number
RETURNING s.number, s.epoch, f.clean;

-- name: lease_freed
-- If a lease ended $1 seconds ago and nobody took its shard, end the sessions that lock shards and
-- have waited that long for the rest of a statement (ClientRead). Their worker was stopped while it
-- sent the statement, and the server's limit for idle transactions does not apply.
SELECT pg_terminate_backend(a.pid)
  FROM pg_stat_activity AS a
  JOIN pg_locks AS l ON l.pid = a.pid AND l.relation = 'tarry.shard'::regclass
                    AND l.mode <> 'AccessShareLock'
 WHERE EXISTS (SELECT FROM tarry.shard
                WHERE worker IS NOT NULL
                  AND until <= clock_timestamp() - $1::float8 * interval '1 second')
   AND a.datname = current_database() AND a.usename = current_user AND a.pid <> pg_backend_pid()
   AND a.state = 'active' AND a.wait_event = 'ClientRead'
   AND a.state_change <= clock_timestamp() - $1::float8 * interval '1 second';

-- name: lease_held
-- Those of these lanes whose shards were not taken or given back since they were leased, locked so
-- that no worker can take them before the transaction has ended. The end of a lease does not matter
-- here: it only says when other workers may take the shard. Giving or taking a shard locks it FOR
-- UPDATE, which waits for this. Renewing a lease changes no key and does not wait.
SELECT l.number, s.epoch
  FROM tarry.lane AS l
  JOIN tarry.shard AS s ON s.number = l.shard
  JOIN unnest($2::integer[], $3::bigint[], $4::text[]) AS held (number, epoch, worker)
    ON s.number = held.number AND s.epoch = held.epoch AND s.worker = held.worker
 WHERE l.number = ANY($1::bigint[])
 ORDER BY s.number
   FOR KEY SHARE OF s;

-- name: renew
-- Extend the leases that are still owned; the worker counts as alive in any case.
WITH alive AS (
    INSERT INTO tarry.worker (id, until)
    VALUES ($1, clock_timestamp() + $4::float8 * interval '1 second')
        ON CONFLICT (id) DO UPDATE SET until = excluded.until
), owned AS (
    SELECT s.number
      FROM tarry.shard AS s
      JOIN unnest($2::integer[], $3::bigint[]) AS held (number, epoch)
        ON s.number = held.number AND s.epoch = held.epoch
     WHERE s.worker = $1
     ORDER BY s.number
       FOR NO KEY UPDATE OF s
)
UPDATE tarry.shard AS s
   SET until = clock_timestamp() + $4::float8 * interval '1 second'
  FROM owned AS o
 WHERE s.number = o.number
RETURNING s.number;

-- name: release
-- Give shards back that are still owned.
WITH owned AS (
    SELECT s.number
      FROM tarry.shard AS s
      JOIN unnest($1::integer[], $2::bigint[], $3::text[]) AS held (number, epoch, worker)
        ON s.number = held.number AND s.epoch = held.epoch AND s.worker = held.worker
     ORDER BY s.number
       FOR UPDATE OF s
)
UPDATE tarry.shard AS s
   SET worker = NULL, until = '-infinity'
  FROM owned AS o
 WHERE s.number = o.number;

-- name: server
-- The database's time, the start of its server (it changes with a restart and with a failover), and
-- how many workers are alive.
SELECT extract(epoch FROM clock_timestamp())::float8 AS now,
       extract(epoch FROM pg_postmaster_start_time())::float8 AS started_at,
       (SELECT count(*) FROM tarry.worker WHERE until > clock_timestamp()) AS workers;

-- name: awake
-- The lanes of shards that are not at rest.
SELECT number FROM tarry.lane WHERE shard = ANY($1::integer[]) AND awake ORDER BY number;

-- name: woken
-- The lanes of shards that were woken; each wake-up is returned once, and only to the shard's
-- owner.
WITH owned AS (
    SELECT s.number
      FROM tarry.shard AS s
      JOIN unnest($1::integer[], $2::bigint[], $3::text[]) AS held (number, epoch, worker)
        ON s.number = held.number AND s.epoch = held.epoch AND s.worker = held.worker
     WHERE EXISTS (SELECT FROM tarry.wake AS w WHERE w.shard = s.number)
     ORDER BY s.number
       FOR KEY SHARE OF s
)
DELETE FROM tarry.wake AS w USING owned AS o WHERE w.shard = o.number RETURNING w.lane;

-- name: woken_lock
-- Mark lanes as awake, in order, before a delivery or a task is added to them.
WITH asleep AS (
    SELECT number FROM tarry.lane WHERE number = ANY($1::bigint[]) ORDER BY number
       FOR NO KEY UPDATE
)
UPDATE tarry.lane AS l SET awake = true, dozing = false FROM asleep AS a WHERE l.number = a.number;

-- name: woken_tell
-- Save wake-ups of lanes, and notify listeners of their shards.
WITH told AS (
    INSERT INTO tarry.wake (shard, lane)
    SELECT shard, number FROM tarry.lane WHERE number = ANY($1::bigint[])
    RETURNING shard
)
SELECT pg_notify('tarry', shard::text) FROM (SELECT DISTINCT shard FROM told) AS shards;

-- name: rest_lock
-- Lock lanes, so that no delivery is added until it is decided whether they rest.
SELECT number FROM tarry.lane
 WHERE number = ANY($1::bigint[])
 ORDER BY number
   FOR NO KEY UPDATE;

-- name: rest
-- Put lanes to rest that have nothing to send and no more deliveries than their owner knows.
UPDATE tarry.lane AS l
   SET awake = false
  FROM unnest($1::bigint[], $2::bigint[]) AS known (lane, added)
 WHERE l.number = known.lane AND l.added <= known.added
   AND NOT EXISTS (SELECT FROM tarry.delivery AS d
                    WHERE @d.lane = known.lane AND d.state IN ('ready', 'waiting'))
   AND NOT EXISTS (SELECT FROM tarry.resend AS r WHERE r.lane = known.lane)
RETURNING l.number;

-- name: rest_doze
-- Let the next delivery wake lanes, unless they have more deliveries than their owner knows.
UPDATE tarry.lane AS l
   SET dozing = true
  FROM unnest($1::bigint[], $2::bigint[]) AS known (lane, added)
 WHERE l.number = known.lane AND l.added <= known.added
RETURNING l.number;

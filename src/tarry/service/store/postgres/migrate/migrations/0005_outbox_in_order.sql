-- Messages in the outbox are numbered in the order of their inserts, because their times follow a
-- clock that may be set back. They are collected by application, so that each keeps its order.

INSERT INTO tarry.migration (number, name) VALUES (5, 'outbox_in_order');

ALTER TABLE tarry.outbox ADD COLUMN number bigint;
UPDATE tarry.outbox AS o
   SET number = known.number
  FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS number FROM tarry.outbox) AS known
 WHERE o.id = known.id;
ALTER TABLE tarry.outbox ALTER COLUMN number SET NOT NULL;
ALTER TABLE tarry.outbox ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY;
SELECT setval(pg_get_serial_sequence('tarry.outbox', 'number'),
              (SELECT coalesce(max(number), 0) + 1 FROM tarry.outbox), false);
DROP INDEX tarry.outbox_in_order;
CREATE UNIQUE INDEX outbox_in_order ON tarry.outbox (application, number);

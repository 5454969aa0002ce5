-- Maintenance. A reader searches for rows to remove, and then the writer removes those that may
-- still go: so a long search delays no commit.

-- part: is_over
-- A message has no live delivery and no resend.
NOT EXISTS (SELECT 1 FROM delivery
                    WHERE delivery.message = message.number AND state IN ('ready', 'waiting'))
       AND NOT EXISTS (SELECT 1 FROM resend WHERE resend.message = message.number)

-- name: sweep_messages
-- Messages accepted before a time, after one, and whether each has no live delivery and no resend.
SELECT accepted_at, number,
       {is_over}
  FROM message
 WHERE accepted_at < :before AND accepted_at >= :at AND (accepted_at, number) > (:at, :behind)
 ORDER BY accepted_at, number
 LIMIT :limit;

-- name: sweep_payloads
-- The same for messages that still have their payload.
SELECT accepted_at, number,
       {is_over}
  FROM message
 WHERE accepted_at < :before AND accepted_at >= :at AND (accepted_at, number) > (:at, :behind)
   AND (payload IS NULL) = 0
 ORDER BY accepted_at, number
 LIMIT :limit;

-- name: sweep_expired
-- The same for messages whose `payload_until` is before a time.
SELECT payload_until, number,
       {is_over}
  FROM message
 WHERE payload_until < :before AND payload_until >= :at AND (payload_until, number) > (:at, :behind)
   AND payload_until IS NOT NULL AND payload IS NOT NULL
 ORDER BY payload_until, number
 LIMIT :limit;

-- name: sweep_over
-- Whether a message has no live delivery and no resend.
SELECT {is_over} FROM message WHERE number = :message;

-- name: sweep_message
-- Delete a message.
DELETE FROM message WHERE number = :message;

-- name: sweep_deliveries
-- Delete a message's deliveries.
DELETE FROM delivery WHERE message = :message;

-- name: sweep_attempts
-- Delete a message's attempts.
DELETE FROM attempt WHERE message = :message;

-- name: sweep_key
-- Delete a message's idempotency key.
DELETE FROM key WHERE message = :message;

-- name: sweep_payload
-- Delete a message's payload.
UPDATE message
   SET payload = NULL, sealed_with = NULL
 WHERE number = :message AND payload IS NOT NULL;

-- name: sweep_keys
-- Delete idempotency keys of messages accepted before a time.
DELETE FROM key
 WHERE (environment, key) IN (SELECT environment, key FROM key INDEXED BY key_accepted
                               WHERE accepted_at < :before ORDER BY accepted_at LIMIT :limit);

-- name: sweep_notices
-- Delete notices from before a time.
DELETE FROM notice
 WHERE id IN (SELECT id FROM notice WHERE at < :before ORDER BY at LIMIT :limit);

-- name: sweep_tasks
-- Delete tasks that were finished before a time.
DELETE FROM task
 WHERE id IN (SELECT id FROM task INDEXED BY task_finished
               WHERE finished_at < :before ORDER BY finished_at LIMIT :limit);

-- name: sweep_claims
-- Delete claims that first came before a time.
DELETE FROM claim
 WHERE (environment, key) IN (SELECT environment, key FROM claim INDEXED BY claim_at
                               WHERE at < :before ORDER BY at LIMIT :limit);

-- name: sweep_portal_keys
-- Delete keys to one application that ended before a time.
DELETE FROM api_key
 WHERE id IN (SELECT id FROM api_key INDEXED BY api_key_ended
               WHERE application IS NOT NULL AND ends_at < :before ORDER BY ends_at LIMIT :limit);

-- name: read_sealed
-- Endpoints with sealed values, after one.
SELECT document
  FROM endpoint INDEXED BY endpoint_sealed
 WHERE sealed AND id > :after AND standing <> 'deleted'
 ORDER BY id
 LIMIT :limit;

-- name: check
-- Write a value that must reach the disk.
UPDATE checkup SET times = times + 1;

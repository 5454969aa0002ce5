-- How many deliveries led to a message, so that endless chains are noticed.

INSERT INTO tarry.migration (number, name) VALUES (6, 'chains');

ALTER TABLE tarry.message ADD COLUMN chain bigint NOT NULL DEFAULT 0;

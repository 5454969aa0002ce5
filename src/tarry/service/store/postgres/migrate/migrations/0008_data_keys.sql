-- Data keys, which seal the payloads and responses of one application each. `sealed_with` names the
-- data key of a row; without one, the row is not sealed.

INSERT INTO tarry.migration (number, name) VALUES (8, 'data_keys');

CREATE TABLE tarry.data_key (
    id          text COLLATE "C" PRIMARY KEY,
    application text COLLATE "C" NOT NULL UNIQUE,
    sealed      bytea NOT NULL,
    created_at  double precision NOT NULL
);

ALTER TABLE tarry.message ADD COLUMN sealed_with text COLLATE "C";
ALTER TABLE tarry.attempt ADD COLUMN sealed_with text COLLATE "C";

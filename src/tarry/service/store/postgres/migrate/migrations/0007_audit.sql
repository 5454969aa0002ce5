-- The audit trail: who changed what. Each entry is written in the commit of its change.

INSERT INTO tarry.migration (number, name) VALUES (7, 'audit');

CREATE TABLE tarry.audit (
    id          text COLLATE "C" PRIMARY KEY,
    environment text COLLATE "C" NOT NULL,
    application text COLLATE "C",
    at          double precision NOT NULL,
    actor       text NOT NULL,
    key         text COLLATE "C",
    operation   text NOT NULL,
    address     text,
    target_kind text NOT NULL,
    target      text NOT NULL,
    changes     json NOT NULL
);
CREATE INDEX audit_of_environment ON tarry.audit (environment, id);
CREATE INDEX audit_at ON tarry.audit (at);

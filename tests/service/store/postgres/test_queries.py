import re
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import psycopg
import pytest
from psycopg import sql

import tarry.service.outbox
import tarry.service.store.postgres
from tarry.service.model.lane import Stream
from tarry.service.store.postgres.migrate.schema import STEPS
from tarry.service.store.postgres.queries import SQL

pytestmark = pytest.mark.anyio

SOURCE = Path(next(iter(tarry.service.store.postgres.__path__)))

MANY = 20_000
FILLED = sql.SQL("""
INSERT INTO tarry.lane (number, application, shard) VALUES (1, 'app_1', 0);
INSERT INTO tarry.endpoint (id, application, lane, url, description, fifo, blocking, secrets,
                            metadata, standing, parked, created_at, updated_at)
VALUES ('ep_1', 'app_1', 1, '', '', false, false, '[]', '{{}}', 'enabled', '[]', 0, 0);
INSERT INTO tarry.message (id, application, event_type, payload, channels, tags, accepted_at, lanes,
                           seqs, payload_until)
SELECT 'msg_' || lpad(place::text, 27, '0'), 'app_1', 'a', 'x', '{{}}', '{{}}', place, ARRAY[1],
       ARRAY[place], place
  FROM generate_series(1, {many}) AS place;
INSERT INTO tarry.delivery (lane, seq, message, state, reason, accepted_at)
SELECT 1, place, 'msg_' || lpad(place::text, 27, '0'), 'ready', 'x', place
  FROM generate_series(1, {many}) AS place;
INSERT INTO tarry.message (id, application, event_type, payload, channels, tags, accepted_at, lanes,
                           seqs)
SELECT 'msg_to_ten', 'app_1', 'b', 'x', '{{}}', '{{}}', 0, array_agg(1), array_agg(place)
  FROM generate_series({many} - 10, {many} - 1) AS place;
INSERT INTO tarry.attempt (lane, id, message, number, at, took, url, status, detail, body, trigger,
                           counted, policy, now, draw, decision)
SELECT 1, 'atmpt_' || lpad(place::text, 27, '0'), 'msg_' || lpad(place::text, 27, '0'), 1, place, 1,
       '', 200, '', '', 'scheduled', true, '', 0, 0, ''
  FROM generate_series(1, {many}) AS place;
INSERT INTO tarry.audit (id, environment, at, actor, operation, target_kind, target, changes)
SELECT 'audit_' || lpad(place::text, 27, '0'), 'org_' || place % 100, place, 'key', '', '', '', '[]'
  FROM generate_series(1, {many}) AS place;
""").format(many=MANY)
BEFORE = sql.SQL("""
INSERT INTO tarry.delivery (lane, seq, message, state, reason, accepted_at)
SELECT 2, place, '', CASE place % 10000 WHEN 0 THEN 'ready' ELSE 'delivered' END, 'x', place
  FROM generate_series(1, {many}) AS place;
""").format(many=MANY)
"""The data from the time when few deliveries waited."""
SOME = [f"msg_{number:027}" for number in range(MANY - 10, MANY)]
SEQS = list(range(MANY - 10, MANY))
TO_TEN = "msg_to_ten"
SETTLED = ([1] * 10, SEQS, SOME, [0] * 10, ["ready"] * 10, ["new"] * 10, [0] * 10, [0] * 10)
WAITING = (MANY, 0.0, "", 10, "", "")
ASKED: dict[LiteralString, tuple[object, ...]] = {
    "advance_payloads": ("app_1", MANY / 2, "", 1e9, 10),
    "advance_wanted": (1, "app_1", MANY / 2, "", 1e9, 10, 1e9, True),
    "advance_live": (1, MANY // 2, 0.0, 1e9, 10),
    "advance_kept": (1, SEQS, ["ready"]),
    "sweep_messages": WAITING,
    "sweep_full": WAITING,
    "sweep_expired": WAITING,
    "sweep_leaving_messages": ("", "~", f"msg_{MANY // 2:027}", 0.0, 10),
    "sweep_live": (SOME,),
    "sweep_payloads": (SOME,),
    "cancel": (TO_TEN,),
    "expire": (1, 10.0, 0.0, 10, "too old"),
    "settle": (*SETTLED, *([None] * 10 for _ in range(3)), [1]),
    "settle_hold": ([1] * 10, SEQS),
    "read_deliveries": (SOME[0],),
    "page_audit": ("org_1", "", "~", 10, None, None, None, None),
    "page_audit_found": ([f"audit_{number:027}" for number in range(1, 11)],),
    "sweep_audit": (10.0, 10),
}
"""Queries that find few of many rows, with their arguments."""

BESIDE = """
INSERT INTO tarry.lane (number, application, shard)
SELECT n, 'app_1', 1 FROM generate_series(1, 50000) AS n;
INSERT INTO tarry.delivery (lane, seq, message, state, reason, accepted_at)
SELECT n, place, '', 'delivered', 'x', n
  FROM generate_series(2, 50000) AS n, generate_series(1, 3) AS place;
"""
"""Many lanes with a few delivered messages each."""
WAITS = """
INSERT INTO tarry.delivery (lane, seq, message, state, reason, accepted_at, due_at)
SELECT 1, n, '', CASE n % 2 WHEN 0 THEN 'ready' ELSE 'waiting' END, 'x', n, n
  FROM generate_series(1, 100000) AS n;
"""
"""One lane with many waiting deliveries."""
DRAINED = """
UPDATE tarry.delivery SET state = 'delivered', due_at = NULL WHERE lane = 1;
INSERT INTO tarry.delivery (lane, seq, message, state, reason, accepted_at, due_at)
SELECT 1000 * n, 3 + s.place, '', s.state, 'x', n, n
  FROM generate_series(1, 20) AS n,
       (VALUES (1, 'ready'), (2, 'waiting'), (3, 'failed'), (4, 'cancelled')) AS s (place, state);
"""
"""The lane's backlog has drained, and a few deliveries wait in others."""
TRIED = """
INSERT INTO tarry.attempt (lane, id, message, number, at, took, url, status, detail, body, trigger,
                           counted, policy, now, draw, decision)
SELECT lane, 'atmpt_' || seq, '', 1, 0, 1, '', 200, '', '', 'scheduled', true, '', 0, 0, ''
  FROM tarry.delivery;
"""
"""Every delivery has one attempt."""
OF_DRAINED: list[tuple[LiteralString, tuple[object, ...]]] = [
    *(("fetch", ([1], [of], [10], [0], [2**62], [0.0], 1e9, 10**6)) for of in Stream),
    ("rest", ([1], [100_000])),
    ("expire", (1, 1e9, 0.0, 10, "too old")),
    ("read_undelivered", ("app_1", 1, 0, 10, 1)),
    ("advance_live", (1, 0, 0.0, 1e9, 10)),
    ("advance_failed", (1, 0, 0.0, 1e9, 10)),
    ("advance_kept", (1, [5, 50_000], ["delivered"])),
    ("advance_replayed", (1, [6, 50_001], "replayed", 0.0)),
    ("advance_discarded", (1, [7, 50_002], "discarded", 0.0)),
    ("page_deliveries_to_found", (1, [8, 50_003])),
    ("page_attempts_to_found", (1, ["atmpt_8", "atmpt_50003"])),
    (
        "page_deliveries_to_undelivered",
        (1, 0, 2**62, 10, None, None, None, "", "~", ["ready"], None),
    ),
]
"""Queries on a drained lane, with their arguments."""


@pytest.fixture(scope="module")
def filled(tarry_database: str) -> Iterator[psycopg.Connection]:
    """Provide a lane with many waiting deliveries that no ANALYZE has counted yet."""
    with psycopg.connect(tarry_database) as connection:
        connection.execute(FILLED)
        yield connection
        connection.rollback()


async def test_the_database_understands_every_query(tarry_url: str) -> None:
    connection = await asyncpg.connect(tarry_url)
    for name, query in SQL.items():
        assert await connection.prepare(query), name
    await connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("counted", [False, True])
def test_few_are_found_among_many_whether_or_not_the_database_has_counted_them(
    filled: psycopg.Connection, *, counted: bool
) -> None:
    if counted:
        filled.execute("ANALYZE tarry.message, tarry.delivery, tarry.attempt")
    assert _looks_at_many(filled) == {}


@pytest.mark.slow
def test_few_are_found_where_much_waits_that_came_after_the_database_had_counted(
    database_url: str,
) -> None:
    with psycopg.connect(database_url) as connection:
        for step in STEPS:
            connection.execute(step.sql.encode())
        connection.execute(BEFORE)
        connection.execute("ANALYZE tarry.message, tarry.delivery, tarry.attempt")
        connection.execute(FILLED)
        assert _looks_at_many(connection) == {}


@pytest.mark.slow
@pytest.mark.parametrize("counted", ["while much waited", "before and after"])
def test_a_lane_whose_backlog_has_drained_is_not_read_through(
    database_url: str, counted: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for step in STEPS:
            connection.execute(step.sql.encode())
        connection.execute(BESIDE)
        connection.execute("VACUUM ANALYZE tarry.delivery")
        connection.execute(WAITS)
        connection.execute("ANALYZE tarry.delivery")
        connection.execute(DRAINED)
        # What is left of the large indexes is few rows on many pages.
        connection.execute("VACUUM tarry.delivery")
        connection.execute(TRIED)
        if counted == "before and after":
            connection.execute("ANALYZE tarry.delivery, tarry.attempt")
        _as_the_store(connection)
        costs = [
            (_pages(connection, name, *arguments), name, arguments)
            for name, arguments in OF_DRAINED
        ]
    assert [query for query in costs if query[0] > 200] == []


def _looks_at_many(connection: psycopg.Connection) -> dict[str, int]:
    """Return the queries that read many pages, and how many."""
    _as_the_store(connection)
    pages_of = {name: _pages(connection, name, *arguments) for name, arguments in ASKED.items()}
    return {name: pages for name, pages in pages_of.items() if pages > 200}


def _as_the_store(connection: psycopg.Connection) -> None:
    """Have queries planned with the store's settings."""
    connection.execute("SET plan_cache_mode = force_generic_plan")
    connection.execute("SET enable_seqscan = off")


def _pages(connection: psycopg.Connection, name: LiteralString, *arguments: object) -> int:
    """Return how many pages a query reads."""
    connection.execute(f"PREPARE asked AS {SQL[name]}".encode())
    literals = sql.SQL(", ").join(map(sql.Literal, arguments))
    explain = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE asked ({})").format(literals)
    ((plan,),) = connection.execute(explain).fetchall()
    connection.execute("DEALLOCATE asked")
    top: dict[str, int] = plan[0]["Plan"]
    return top["Shared Hit Blocks"] + top["Shared Read Blocks"]


def test_every_query_is_used() -> None:
    outbox = Path(tarry.service.outbox.__file__)  # users call it on connections of their own
    source = "".join(file.read_text() for file in [*SOURCE.rglob("*.py"), outbox])
    assert not [name for name in SQL if f'"{name}"' not in source]


def test_every_table_is_named_with_its_schema() -> None:
    tables = r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING)\s+(?!ONLY|SET|SKIP|OF)(tarry\.)?(\w+)"
    ours = re.compile(r"CREATE TABLE tarry\.(\w+)").findall(
        (SOURCE / "migrate" / "migrations" / "0001_begin.sql").read_text()
    )
    for name, query in SQL.items():
        for schema, table in re.findall(tables, query):
            assert schema or table not in ours or table in _named_in(query), (name, table)


def _named_in(query: str) -> list[str]:
    """Return the names of a query's common table expressions."""
    return re.findall(r"(\w+) AS (?:MATERIALIZED )?\(", query)

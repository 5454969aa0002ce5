import re
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import psycopg
import pytest
from psycopg import sql

import tarry.service.store.postgres
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.schema import STEPS

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
""").format(many=MANY)
BEFORE = sql.SQL("""
INSERT INTO tarry.delivery (lane, seq, message, state, reason, accepted_at)
SELECT 2, place, '', CASE place % 10000 WHEN 0 THEN 'ready' ELSE 'delivered' END, 'x', place
  FROM generate_series(1, {many}) AS place;
""").format(many=MANY)
"""What was there while little waited."""
SOME = [f"msg_{place:027}" for place in range(MANY - 10, MANY)]
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
    "deliveries": (SOME[0],),
}
"""Queries that find a few of many, and what they are asked with."""


@pytest.fixture(scope="module")
def filled(tarry_database: str) -> Iterator[psycopg.Connection]:
    """A lane in which much waits, of whose rows the database has counted none yet."""
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


def _looks_at_many(connection: psycopg.Connection) -> dict[str, int]:
    """The queries that look at many pages, and at how many."""
    connection.execute("SET plan_cache_mode = force_generic_plan")
    connection.execute("SET enable_seqscan = off")  # as the store does
    return {name: pages for name in ASKED if (pages := _pages(connection, name)) > 200}


def _pages(connection: psycopg.Connection, name: LiteralString) -> int:
    """How many pages a query looks at."""
    connection.execute(f"PREPARE asked AS {SQL[name]}".encode())
    told = sql.SQL(", ").join(map(sql.Literal, ASKED[name]))
    explain = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE asked ({})").format(told)
    ((plan,),) = connection.execute(explain).fetchall()
    connection.execute("DEALLOCATE asked")
    found: dict[str, int] = plan[0]["Plan"]
    return found["Shared Hit Blocks"] + found["Shared Read Blocks"]


def test_every_query_is_used() -> None:
    source = "".join(file.read_text() for file in SOURCE.glob("*.py"))
    assert not [name for name in SQL if f'"{name}"' not in source]


def test_every_table_is_named_with_its_schema() -> None:
    tables = r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING)\s+(?!ONLY|SET|SKIP|OF)(tarry\.)?(\w+)"
    ours = re.compile(r"CREATE TABLE tarry\.(\w+)").findall(
        (SOURCE / "migrations" / "0001_begin.sql").read_text()
    )
    for name, query in SQL.items():
        for schema, table in re.findall(tables, query):
            assert schema or table not in ours or table in _named_in(query), (name, table)


def _named_in(query: str) -> list[str]:
    """Names that a query gives to its own parts."""
    return re.findall(r"(\w+) AS (?:MATERIALIZED )?\(", query)

"""Lists are read in pieces, each through an index, however much else is stored."""

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tarry.service.model.delivery import State
from tarry.service.model.ids import MESSAGE, make
from tarry.service.model.listing import AttemptFilter, Cut, DeliveryFilter, MessageFilter
from tarry.service.store.kinds import AttemptsTo, DeliveriesTo, Messages
from tarry.service.store.paged_search import LATEST_ADD_SECONDS
from tarry.service.store.postgres.database.pool import Database
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.reading.listing import DOWN
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, delivered, failed, new_id, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

Queries = list[tuple[str, tuple[object, ...]]]


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> Queries:
    """Record the names and arguments of the queries that are run."""
    recorded: Queries = []
    names = {query: name for name, query in (*SQL.items(), *DOWN.items())}
    original = Database.fetch

    async def fetch(self: Database, query: str, *arguments: object) -> list[Any]:
        recorded.append((names[query], arguments))
        return await original(self, query, *arguments)

    monkeypatch.setattr(Database, "fetch", fetch)
    return recorded


async def test_a_long_look_is_many_short_ones(
    scene: Scene, store: PostgresStore, queries: Queries
) -> None:
    await store.add([new_message(scene.application) for _ in range(100)])
    queries.clear()
    message_filter = MessageFilter(tag="no")
    assert (
        await store.page(Messages(scene.application.id, message_filter), Cut(limit=1))
    ).entries == []
    assert [arguments[3] for _, arguments in queries] == [1, 4, 16, 64, 256]


async def test_what_came_in_long_before_is_not_looked_at(
    scene: Scene, store: PostgresStore, queries: Queries
) -> None:
    early = NOON - 9 * LATEST_ADD_SECONDS
    for second in range(30):
        message_id = make(MESSAGE, now=early + second, entropy=bytes(19))
        await scene.add(id=message_id, accepted_at=early + second)
    new = await scene.add()
    delivery_filter = DeliveryFilter(message=MessageFilter(after=NOON))
    queries.clear()
    deliveries = (
        await store.page(DeliveriesTo(scene.endpoint, delivery_filter), Cut(descending=True))
    ).entries
    assert [message for message, _ in deliveries] == [new]
    assert [arguments[1] for name, arguments in queries if name == "page_deliveries_to"] == [30]


async def test_what_is_live_or_failed_is_found_among_what_was_delivered(
    scene: Scene, store: PostgresStore, queries: Queries
) -> None:
    await store.add([new_message(scene.application) for _ in range(40)])
    due = await scene.due()
    await scene.settle(*map(delivered, due[1:-2]), failed(due[0]))
    queries.clear()
    delivery_filter = DeliveryFilter(states=frozenset({State.READY, State.FAILED}))
    deliveries = (
        await store.page(DeliveriesTo(scene.endpoint, delivery_filter), Cut(limit=3))
    ).entries
    assert [delivery.seq for _, delivery in deliveries] == [1, 39, 40]
    assert queries[0][0] == "page_deliveries_to_undelivered"
    assert len(queries) == 3


FILLED = """
INSERT INTO tarry.message (id, application, event_type, payload, channels, tags, accepted_at,
                           lanes, seqs)
SELECT 'msg_' || lpad(place::text, 27, '0'), 'app_' || place % 3, 'a', 'x', '{c}', '{t}', place,
       ARRAY[place % 3], ARRAY[place]
  FROM generate_series(1, 9000) AS place;
INSERT INTO tarry.delivery (lane, seq, message, state, reason, accepted_at)
SELECT place % 3, place, 'msg_' || lpad(place::text, 27, '0'),
       CASE place % 100 WHEN 0 THEN 'ready' WHEN 1 THEN 'failed' ELSE 'delivered' END, 'x', place
  FROM generate_series(1, 9000) AS place;
INSERT INTO tarry.attempt (lane, id, message, number, at, took, url, status, detail, body, trigger,
                           counted, policy, now, draw, decision)
SELECT place % 3, 'atmpt_' || lpad(place::text, 27, '0'), 'msg_' || lpad(place::text, 27, '0'), 1,
       place, 1, '', 200, '', '', 'scheduled', true, '', 0, 0, ''
  FROM generate_series(1, 9000) AS place;
ANALYZE tarry.message, tarry.delivery, tarry.attempt;
"""
WORDS = ("c", "t", ["a"])
MADE = (True, 500, None)
LISTS: list[tuple[str, str, tuple[object, ...]]] = [
    ("page_messages", "(application, id)", ("app_1", "", "~", 10, *WORDS)),
    ("page_deliveries_to", "(lane = ", (1, 0, 9**9, 10, *WORDS, "", "~", ["skipped"], None)),
    (
        "page_deliveries_to_undelivered",
        "((+ lane) = ",
        (1, 0, 9**9, 10, *WORDS, "", "~", ["ready"], True),
    ),
    ("page_attempts_to", "(lane = ", (1, "", "~", 10, *WORDS, *MADE)),
    ("page_attempts_of", "(message = ", (f"msg_{7:027}", "", "~", 10, *WORDS, *MADE)),
    ("count_deliveries", "(lane = ", (1, 0, 10, 0.0, 9e9)),
    ("count_attempts", "(lane = ", (1, "", "~", 10)),
]


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
def test_a_list_goes_along_its_index_and_only_as_far_as_needed(tarry_url: str, mode: str) -> None:
    with psycopg.connect(tarry_url) as connection:
        connection.execute(FILLED)
        connection.execute(sql.SQL("SET plan_cache_mode = {}").format(sql.Identifier(mode)))
        connection.execute("SET enable_seqscan = off")  # as the store does
        for queries in (SQL, DOWN):
            for name, condition, arguments in LISTS:
                if name in queries:
                    steps = list(_steps(_plan(connection, queries[name], arguments)))
                    assert not [step for step in steps if step["Node Type"] == "Seq Scan"], name
                    along = [step.get("Index Cond", "") for step in steps]
                    assert any(condition in step for step in along), (name, steps)
                    read = max(step["Actual Rows"] for step in steps)
                    assert read <= 10, (name, read)


def _plan(
    connection: psycopg.Connection, query: str, arguments: Sequence[object]
) -> dict[str, Any]:
    connection.execute(f"PREPARE asked AS {query}".encode())
    literals = sql.SQL(", ").join(map(sql.Literal, arguments))
    explain = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked ({})").format(literals)
    ((plan,),) = connection.execute(explain).fetchall()
    connection.execute("DEALLOCATE asked")
    top: dict[str, Any] = plan[0]["Plan"]
    return top


def _steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _steps(part)


async def test_nothing_is_found_of_an_endpoint_that_has_nothing(
    scene: Scene, store: PostgresStore
) -> None:
    for back in (False, True):
        cut = Cut(mark=new_id(MESSAGE), back=back)
        assert (await store.page(DeliveriesTo(scene.endpoint, DeliveryFilter()), cut)).entries == []
        assert (await store.page(AttemptsTo(scene.endpoint, AttemptFilter()), cut)).entries == []

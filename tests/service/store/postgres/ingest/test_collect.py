import asyncio
import random
import string
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import psycopg
import psycopg.errors
import pytest
from psycopg.sql import SQL, Identifier, Placeholder

from tarry.service.model.allowed import MOST_BYTES
from tarry.service.model.lane import Stream
from tarry.service.model.message import NewMessage
from tarry.service.outbox import put
from tarry.service.store.kinds import Messages, Notices
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.ingest.accept import accept
from tarry.service.store.postgres.ingest.decide import Result
from tarry.service.store.postgres.ingest.routes import Routes
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, an_application, new_id
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


def put_all(
    url: str, application: str, *event_types: str, event_id: str | None = None
) -> list[str]:
    with psycopg.connect(url) as connection:
        return [
            put(
                connection,
                application=application,
                event_type=name,
                payload=b"{}",
                event_id=event_id,
            )
            for name in event_types
        ]


def insert(url: str, row: dict[str, object]) -> None:
    into = SQL("INSERT INTO tarry.outbox ({}) VALUES ({})").format(
        SQL(", ").join(map(Identifier, row)), SQL(", ").join(Placeholder() * len(row))
    )
    with psycopg.connect(url) as connection:
        connection.execute(into, list(row.values()))


def refused(url: str) -> list[tuple[str, str]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT id, why FROM tarry.outbox_refused").fetchall()


async def test_what_was_put_is_accepted_in_order_and_wakes_the_lane(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    await store.rest({scene.lane: 0}, scene.leases)
    names = put_all(tarry_url, scene.application.id, *"abcde")
    assert await store.collect(now=NOON, limit=3) == 3
    assert await store.woken(scene.leases) == [scene.lane]
    assert await store.collect(now=NOON, limit=3) == 2
    assert await store.collect(now=NOON, limit=3) == 0
    assert [due.message for due in await scene.due()] == names


async def test_of_many_who_collect_each_message_is_accepted_by_one(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    names = put_all(tarry_url, scene.application.id, *["x"] * 50)
    other = await PostgresStore.open(tarry_url)
    stores = [store, other] * 4
    taken = await asyncio.gather(*(either.collect(now=NOON, limit=10) for either in stores))
    await other.close()
    while await store.collect(now=NOON, limit=100):
        pass
    assert sum(taken) <= 50
    assert sorted(due.message for due in await scene.due()) == sorted(names)


@asynccontextmanager
async def collecting(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator["asyncio.Task[int]"]:
    """Provide a call of `collect` that is paused before its commit until the block ends."""
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(
        connection: Connection, routes: Routes, messages: Sequence[NewMessage], *, limited: bool
    ) -> list[Result]:
        results = await accept(connection, routes, messages, limited=limited)
        reached.set()
        await go_on.wait()
        return results

    with monkeypatch.context() as slow:
        slow.setattr("tarry.service.store.postgres.ingest.collect.accept", slowly)
        task = asyncio.create_task(store.collect(now=NOON, limit=10))
        await reached.wait()
    yield task
    go_on.set()
    await task


async def test_what_is_put_after_a_commit_comes_after_it_whoever_collects(
    scene: Scene, store: PostgresStore, tarry_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await PostgresStore.open(tarry_url)
    (first,) = put_all(tarry_url, scene.application.id, "a")
    async with collecting(store, monkeypatch):
        (second,) = put_all(tarry_url, scene.application.id, "b")
        assert await other.collect(now=NOON, limit=10) == 0
    assert await other.collect(now=NOON, limit=10) == 1
    assert [due.message for due in await scene.due()] == [first, second]
    await other.close()


async def test_while_one_application_is_collected_others_are_too(
    scene: Scene, store: PostgresStore, tarry_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, neighbour = await PostgresStore.open(tarry_url), an_application(id=new_id("app_"))
    await store.put(neighbour)
    put_all(tarry_url, scene.application.id, "a")
    async with collecting(store, monkeypatch):
        put_all(tarry_url, scene.application.id, "b")
        (message,) = put_all(tarry_url, neighbour.id, "c")
        assert await other.collect(now=NOON, limit=10) == 1
        assert (await other.get(Messages(neighbour.id), message)).id == message
    await other.close()


async def test_what_another_transaction_has_locked_holds_up_what_was_put_behind_it_alone(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    neighbour = an_application(id=new_id("app_"))
    await store.put(neighbour)
    before, locked, behind = put_all(tarry_url, scene.application.id, *"abc")
    put_all(tarry_url, neighbour.id, "d")
    with psycopg.connect(tarry_url) as other:
        other.execute("SELECT FROM tarry.outbox WHERE id = %s FOR UPDATE", [locked])
        assert await store.collect(now=NOON, limit=10) == 2
        assert [due.message for due in await scene.due()] == [before]
    assert await store.collect(now=NOON, limit=10) == 2
    assert [due.message for due in await scene.due()] == [before, locked, behind]


async def test_when_all_whose_turn_it_is_are_locked_the_next_ones_are_collected(
    scene: Scene, store: PostgresStore, tarry_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.service.store.postgres.ingest.collect.TENANTS_PER_TURN", 1)
    neighbour = an_application(id=new_id("app_"))
    await store.put(neighbour)
    (locked,) = put_all(tarry_url, scene.application.id, "a")
    put_all(tarry_url, neighbour.id, *"bc")
    with psycopg.connect(tarry_url) as other:
        other.execute("SELECT FROM tarry.outbox WHERE id = %s FOR UPDATE", [locked])
        taken = [await store.collect(now=NOON, limit=1) for _ in range(4)]
    assert taken == [1, 1, 0, 0]
    assert await store.collect(now=NOON, limit=1) == 1


async def test_a_clock_that_is_set_back_changes_no_order(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    names = put_all(tarry_url, scene.application.id, *"ab")
    with psycopg.connect(tarry_url) as other:
        other.execute(
            "UPDATE tarry.outbox SET created_at = created_at - interval '1 hour' WHERE id = %s",
            [names[1]],
        )
    assert await store.collect(now=NOON, limit=10) == 2
    assert [due.message for due in await scene.due()] == names


async def test_applications_take_turns(
    store: PostgresStore, tarry_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.service.store.postgres.ingest.collect.TENANTS_PER_TURN", 2)
    tenants = [an_application(id=new_id("app_")) for _ in range(5)]
    for tenant in tenants:
        await store.put(tenant)
        put_all(tarry_url, tenant.id, *"abc")
    counts = []
    for _ in range(3):
        assert await store.collect(now=NOON, limit=2) == 2
        with psycopg.connect(tarry_url) as look:
            rows = look.execute(
                "SELECT count(*) FROM tarry.outbox GROUP BY application ORDER BY application"
            )
            counts.append([row[0] for row in rows.fetchall()])
    assert counts == [[2, 2, 3, 3, 3], [2, 2, 2, 2, 3], [2, 2, 2, 2, 1]]
    while await store.collect(now=NOON, limit=100):
        pass
    with psycopg.connect(tarry_url) as look:
        assert look.execute("SELECT FROM tarry.outbox").fetchall() == []


@pytest.mark.slow
async def test_two_who_put_and_two_who_collect_keep_every_callers_order(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    other = await PostgresStore.open(tarry_url)
    put_in_order: list[list[str]] = [[], []]

    async def go_on_putting(names: list[str]) -> None:
        for _ in range(100):
            names += await asyncio.to_thread(put_all, tarry_url, scene.application.id, "a")

    async def go_on_collecting(collector: PostgresStore) -> None:
        while any(len(names) < 100 for names in put_in_order):
            await collector.collect(now=NOON, limit=3)

    await asyncio.gather(
        *map(go_on_putting, put_in_order), *map(go_on_collecting, [store, other] * 2)
    )
    while await store.collect(now=NOON, limit=100):
        pass
    await other.close()
    came = [due.message for due in await scene.due(limit=1_000)]
    for names in put_in_order:
        assert [name for name in came if name in names] == names


async def test_what_cannot_be_accepted_is_put_aside_with_the_reason_and_a_notice(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    (lost,) = put_all(tarry_url, "app_nobody", "a")
    (first,) = put_all(tarry_url, scene.application.id, "a", event_id="evt_1")
    (second,) = put_all(tarry_url, scene.application.id, "b", event_id="evt_1")
    (fine,) = put_all(tarry_url, scene.application.id, "c")
    assert await store.collect(now=NOON, limit=10) == 4
    assert [due.message for due in await scene.due()] == [first, fine]
    reasons = dict(refused(tarry_url))
    assert reasons.keys() == {lost, second}
    assert "app_nobody" in reasons[lost]
    assert "evt_1" in reasons[second]
    notices = await store.read(Notices())
    assert {notice.facts["message"] for notice in notices} == {lost, second}
    assert {notice.kind for notice in notices} == {"message.refused"}


async def test_an_id_that_a_message_has_is_put_aside_too(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    message = await scene.add()
    with psycopg.connect(tarry_url) as connection:
        connection.execute(
            "INSERT INTO tarry.outbox (id, application, event_type, payload)"
            " VALUES (%s, %s, 'a', '')",
            [message.id, scene.application.id],
        )
    assert await store.collect(now=NOON, limit=10) == 1
    assert [name for name, _ in refused(tarry_url)] == [message.id]
    assert len(await scene.due()) == 1


@pytest.fixture
def unchecked(tarry_url: str) -> Iterator[str]:
    """Provide a database whose outbox table has no checks."""
    with psycopg.connect(tarry_url) as connection:
        checks = connection.execute(
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE conrelid = 'tarry.outbox'::regclass AND contype = 'c'"
        ).fetchall()
        for name, _ in checks:
            connection.execute(f"ALTER TABLE tarry.outbox DROP CONSTRAINT {name}".encode())
    yield tarry_url
    with psycopg.connect(tarry_url) as connection:
        connection.execute("DELETE FROM tarry.outbox")
        for name, check in checks:
            connection.execute(f"ALTER TABLE tarry.outbox ADD CONSTRAINT {name} {check}".encode())


LONG_TEXT = "".join(random.Random(1).choices(string.ascii_letters, k=6000))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", "order.1"),
        ("id", "msg_é"),
        ("id", new_id("msg_") + "\n"),
        ("event_id", LONG_TEXT),
        ("event_type", "x" * 257),
        ("event_type", "not part of a URL"),
        ("event_id", "msg_1"),
        ("payload", bytes(MOST_BYTES + 1)),
        ("application", "x" * 257),
        ("tags", ["x" * 257]),
        ("deliver_at", float("inf")),
        ("deliver_at", float("nan")),
    ],
)
async def test_what_cannot_be_a_message_is_put_aside_and_holds_up_nobody(
    scene: Scene, store: PostgresStore, unchecked: str, column: str, value: object
) -> None:
    row: dict[str, object] = {"id": new_id("msg_"), "application": scene.application.id}
    row |= {"event_type": "a", "payload": b"{}", column: value}
    insert(unchecked, row)
    (fine,) = put_all(unchecked, scene.application.id, "b")
    assert await store.collect(now=NOON, limit=10) == 2
    assert [due.message for due in await scene.due()] == [fine]
    ((name, why),) = refused(unchecked)
    assert name == row["id"]
    assert why.startswith(f"{column!r} is ")


@pytest.mark.parametrize("column", ["id", "event_id", "event_type", "application"])
def test_the_table_itself_takes_no_such_row(tarry_url: str, column: str) -> None:
    row: dict[str, object] = {
        "application": "app",
        "event_type": "a",
        "payload": b"{}",
        column: "x" * 257,
    }
    with pytest.raises(psycopg.errors.CheckViolation):
        insert(tarry_url, row)


async def test_what_the_database_refuses_for_whatever_reason_holds_up_nobody(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    with psycopg.connect(tarry_url) as connection:
        connection.execute(
            "ALTER TABLE tarry.message ADD CONSTRAINT taste CHECK (event_type <> 'poison')"
        )
    try:
        first, poison, last = put_all(tarry_url, scene.application.id, "a", "poison", "b")
        assert await store.collect(now=NOON, limit=10) == 3
        assert await store.collect(now=NOON, limit=10) == 0
    finally:
        with psycopg.connect(tarry_url) as connection:
            connection.execute("ALTER TABLE tarry.message DROP CONSTRAINT taste")
    assert [due.message for due in await scene.due()] == [first, last]
    ((name, why),) = refused(tarry_url)
    assert name == poison
    assert "taste" in why
    assert [notice.facts["message"] for notice in await store.read(Notices())] == [poison]
    await scene.check_counts()


async def test_what_was_committed_is_accepted_however_much_waits(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    full = an_application(most_waiting=0, id=new_id("app_"))
    await store.put(full)
    (message,) = put_all(tarry_url, full.id, "a")
    assert await store.collect(now=NOON, limit=10) == 1
    assert (await store.get(Messages(full.id), message)).id == message
    assert (await scene.fetch(Stream.READY)).due == []


async def test_whoever_listens_hears_of_what_is_put(scene: Scene, tarry_url: str) -> None:
    heard = asyncio.Event()
    scene.store.listen(heard.set)
    await asyncio.wait_for(heard.wait(), 60)  # it does so when it begins to listen
    heard.clear()
    put_all(tarry_url, scene.application.id, "a")
    await asyncio.wait_for(heard.wait(), 60)

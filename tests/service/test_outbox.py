import math
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import psycopg
import pytest

from tarry.errors import SettingsError, StoreError
from tarry.service.model import ids
from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.outbox import aput, put
from tarry.service.store.kinds import Messages
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

AsyncpgConnection = Any  # it ships no types
PAID: dict[str, Any] = {"event_type": "invoice.paid", "payload": b'{"total": \x00\xff}'}


@pytest.fixture
async def store(tarry_url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(tarry_url)
    yield store
    await store.close()


@pytest.fixture
async def scene(store: PostgresStore) -> Scene:
    return await Scene.set_up(store)


@pytest.fixture
def plain(tarry_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(tarry_url) as connection:
        yield connection


@pytest.fixture
async def psycopg_async(tarry_url: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(tarry_url) as connection:
        yield connection


@pytest.fixture
async def asyncpg_one(tarry_url: str) -> AsyncIterator[AsyncpgConnection]:
    connection = await asyncpg.connect(tarry_url)
    yield connection
    await connection.close()


async def collected(store: PostgresStore, application: str) -> list[str]:
    await store.collect(now=NOON, limit=100)
    newest = Cut(descending=True)
    found = (await store.page(Messages(application, MessageFilter()), newest)).entries
    return [message.id for message in found]


async def test_a_message_of_a_psycopg_transaction_comes_with_its_commit(
    scene: Scene, store: PostgresStore, plain: psycopg.Connection[Any]
) -> None:
    message = put(plain, application=scene.application.id, **PAID)
    assert message.startswith(ids.MESSAGE)
    assert await collected(store, scene.application.id) == []
    plain.commit()
    assert await collected(store, scene.application.id) == [message]
    (due,) = await scene.due()
    assert (due.message, due.payload) == (message, PAID["payload"])


async def test_a_cursor_will_do_as_well(
    scene: Scene, store: PostgresStore, plain: psycopg.Connection[Any]
) -> None:
    with plain.cursor() as cursor:
        message = put(cursor, application=scene.application.id, **PAID)
    plain.commit()
    assert await collected(store, scene.application.id) == [message]


async def test_a_message_of_an_async_psycopg_transaction_comes_with_its_commit(
    scene: Scene, store: PostgresStore, psycopg_async: psycopg.AsyncConnection[Any]
) -> None:
    message = await aput(psycopg_async, application=scene.application.id, **PAID)
    assert await collected(store, scene.application.id) == []
    await psycopg_async.commit()
    assert await collected(store, scene.application.id) == [message]


async def test_a_message_of_an_asyncpg_transaction_comes_with_its_commit(
    scene: Scene, store: PostgresStore, asyncpg_one: AsyncpgConnection
) -> None:
    async with asyncpg_one.transaction():
        message = await aput(asyncpg_one, application=scene.application.id, **PAID)
        assert await collected(store, scene.application.id) == []
    assert await collected(store, scene.application.id) == [message]


async def test_a_pool_of_asyncpg_lends_connections_that_will_do(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    pool = asyncpg.create_pool(tarry_url, min_size=1, max_size=1)
    async with pool, pool.acquire() as connection:
        message = await aput(connection, application=scene.application.id, **PAID)
    assert await collected(store, scene.application.id) == [message]


async def test_a_rollback_leaves_nothing(
    scene: Scene,
    store: PostgresStore,
    plain: psycopg.Connection[Any],
    psycopg_async: psycopg.AsyncConnection[Any],
    asyncpg_one: AsyncpgConnection,
) -> None:
    put(plain, application=scene.application.id, **PAID)
    plain.rollback()
    await aput(psycopg_async, application=scene.application.id, **PAID)
    await psycopg_async.rollback()
    transaction = asyncpg_one.transaction()
    await transaction.start()
    await aput(asyncpg_one, application=scene.application.id, **PAID)
    await transaction.rollback()
    assert await collected(store, scene.application.id) == []


async def test_all_that_a_message_has_goes_along(
    scene: Scene, store: PostgresStore, plain: psycopg.Connection[Any]
) -> None:
    message = put(
        plain,
        application=scene.application.id,
        event_type="invoice.paid",
        payload=b"",
        event_id="evt_1",
        channels=["eu", "us"],
        tags=("x",),
        deliver_at=int(NOON) + 60,
    )
    plain.commit()
    await store.collect(now=NOON, limit=10)
    found = await store.get(Messages(scene.application.id), "evt_1")
    assert found.id == message
    assert (found.channels, found.tags) == (("eu", "us"), ("x",))
    assert (found.accepted_at, found.deliver_at) == (NOON, NOON + 60)


async def test_any_program_may_insert_by_itself_and_gets_an_id(
    scene: Scene, store: PostgresStore, plain: psycopg.Connection[Any]
) -> None:
    row = plain.execute(
        "INSERT INTO tarry.outbox (application, event_type, payload) VALUES (%s, %s, %s)"
        " RETURNING id, extract(epoch FROM created_at)::float8",
        [scene.application.id, "invoice.paid", b"{}"],
    ).fetchone()
    plain.commit()
    assert row
    assert len(row[0]) == len(ids.MESSAGE) + ids.LENGTH
    assert ids.made_at(row[0]) == pytest.approx(row[1], abs=1)
    assert await collected(store, scene.application.id) == [row[0]]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("application", ""),
        ("event_type", 7),
        ("event_type", "x" * 257),
        ("event_id", "x" * 257),
        ("channels", ["eu", "x" * 257]),
        ("payload", "text"),
        ("channels", "eu"),
        ("tags", "x"),
        ("tags", [7]),
        ("event_id", 7),
        ("event_id", "nul\0"),
        ("event_type", "half \ud800"),
        ("application", "the-uid-of-one"),
        ("deliver_at", "soon"),
        ("deliver_at", math.inf),
    ],
)
def test_what_cannot_be_sent_is_refused_before_it_is_written(
    plain: psycopg.Connection[Any], field: str, value: object
) -> None:
    values: dict[str, Any] = {"application": "app_1", **PAID, field: value}
    with pytest.raises(SettingsError, match=field):
        put(plain, **values)
    assert plain.execute("SELECT count(*) FROM tarry.outbox").fetchone() == (0,)


async def test_raw_cursors_get_the_statement_as_they_want_it(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    with psycopg.connect(tarry_url, cursor_factory=psycopg.RawCursor) as connection:
        put(connection, application=scene.application.id, **PAID)
        put(connection.cursor(), application=scene.application.id, **PAID)
        with psycopg.ClientCursor(connection) as cursor:
            put(cursor, application=scene.application.id, **PAID)
    async with await psycopg.AsyncConnection.connect(
        tarry_url, cursor_factory=psycopg.AsyncRawCursor
    ) as other:
        await aput(other, application=scene.application.id, **PAID)
    assert len(await collected(store, scene.application.id)) == 4


async def test_a_pool_itself_is_refused_because_it_has_no_transaction(tarry_url: str) -> None:
    async with asyncpg.create_pool(tarry_url, min_size=1, max_size=1) as pool:
        with pytest.raises(StoreError, match=r"aput takes a connection .* not asyncpg\.pool\.Pool"):
            await aput(pool, application="app_1", **PAID)


async def test_another_drivers_connection_is_named(
    plain: psycopg.Connection[Any], psycopg_async: psycopg.AsyncConnection[Any]
) -> None:
    with pytest.raises(StoreError, match=r"put takes a connection or cursor of psycopg, not.*dict"):
        put({}, application="app_1", **PAID)
    with pytest.raises(StoreError, match=r"AsyncConnection; for others see aput"):
        put(psycopg_async, application="app_1", **PAID)
    with pytest.raises(StoreError, match=r"psycopg\.Connection; for others see put"):
        await aput(plain, application="app_1", **PAID)

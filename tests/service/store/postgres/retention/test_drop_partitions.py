import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from tarry.service.model.delivery import State
from tarry.service.model.lane import Stream
from tarry.service.model.settings import DAY
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import AllAttemptsOf, AllDeliveriesOf, Messages
from tarry.service.store.postgres.retention import drop_partitions, old_partition, partitions
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import delivered
from tests.service.store.postgres.ages import Ages, ages
from tests.service.store.postgres.pooler import pooler_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def scene(database_url: str) -> AsyncIterator[Ages]:
    async with ages(database_url) as scene:
        yield scene


def old(scene: Ages, of: str) -> str:
    return f"{of}_{scene.old_at:.0f}"


async def test_an_old_partition_is_dropped_with_all_that_points_to_it(scene: Ages) -> None:
    for number in range(25):
        await scene.put(scene.old_at + number, key=f"k{number}", event_id=f"e{number}")
    await scene.deliver(scene.old_at + 60)
    new = await scene.put(scene.now, event_id="e-new", key="k-new")
    before = await scene.row()
    await scene.sweep(limit=10)
    assert old(scene, "message") not in scene.tables("message")
    assert old(scene, "attempt") not in scene.tables("attempt")
    for table in ("message", "delivery", "event", "key"):
        assert scene.rows(table) == 1, table
    assert scene.rows("attempt") == 0
    assert await scene.store.get(Messages(scene.application.id), "e-new") == new
    assert await scene.row() == before
    again = await scene.put(scene.now, event_id="e1", key="k1")
    assert await scene.store.get(Messages(scene.application.id), "e1") == again


async def test_what_still_waits_survives_with_its_payload_and_its_attempts(scene: Ages) -> None:
    late = await scene.add_endpoint()
    waits = await scene.put(scene.old_at + 1, payload=b"still wanted", event_id="mine", key="k")
    await scene.deliver(scene.old_at + 60)  # to one of its two endpoints
    await scene.sweep()
    assert old(scene, "message") not in scene.tables("message")
    assert old(scene, "attempt") not in scene.tables("attempt")
    assert scene.rows("message_default") == scene.rows("message") == 1
    assert await scene.store.get(Messages(scene.application.id), "mine") == waits
    assert len(await scene.store.read(AllAttemptsOf(waits.id))) == 1
    assert len(await scene.store.read(AllDeliveriesOf(waits.id))) == 2
    (due,) = await scene.due(lane=late.lane)
    assert (due.message, due.payload) == (waits.id, b"still wanted")
    await scene.settle(delivered(due))
    await scene.sweep()
    for table in ("message", "delivery", "attempt", "event", "key"):
        assert scene.rows(table) == 0, table


async def test_what_is_to_be_resent_survives(scene: Ages) -> None:
    message = await scene.put(scene.old_at + 1)
    await scene.deliver(scene.old_at + 60)
    await scene.store.resend(scene.endpoint, message.id, resend="r1")
    await scene.sweep()
    assert old(scene, "message") not in scene.tables("message")
    (due,) = await scene.due(Stream.RESEND)
    assert due.payload == message.payload


async def test_a_partition_in_which_much_waits_stays_and_is_swept_by_rows(
    scene: Ages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_partition, "MOST_LIVE_MESSAGES", 2)
    for number in range(5):
        await scene.put(scene.old_at + number)
    await scene.deliver(scene.old_at + 60)
    waiting = [await scene.put(scene.old_at + 10 + number) for number in range(3)]
    await scene.sweep()
    assert old(scene, "message") in scene.tables("message")
    assert [due.message for due in await scene.due()] == [message.id for message in waiting]
    assert scene.rows("message") == scene.rows("delivery") == 3
    assert scene.rows("leaving") == 0
    assert scene.rows("attempt") == 0


async def test_payloads_that_are_kept_less_long_go_by_themselves(scene: Ages) -> None:
    message = await scene.put(scene.old_at + 1)
    await scene.deliver(scene.old_at + 60)
    waits = await scene.put(scene.old_at + 2)
    year = Retention(payloads_before=scene.now - DAY, messages_before=scene.now - 365 * DAY)
    await scene.sweep(year)
    assert old(scene, "message") in scene.tables("message")
    assert (await scene.store.get(Messages(scene.application.id), message.id)).payload is None
    assert await scene.store.get(Messages(scene.application.id), waits.id) == waits
    assert len(await scene.store.read(AllAttemptsOf(message.id))) == 1


async def test_what_is_large_is_left_alone_until_all_of_it_is_old(
    scene: Ages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drop_partitions, "LARGE_BYTES", 1)
    message = await scene.put(scene.old_at + 1)
    await scene.deliver(scene.old_at + 60)
    inside = Retention(
        messages_before=scene.old_at + 3 * DAY, payloads_before=scene.old_at + 3 * DAY
    )
    assert await scene.sweep(inside) == 0
    assert await scene.store.get(Messages(scene.application.id), message.id) == message
    monkeypatch.undo()
    assert await scene.sweep(inside) > 0
    assert scene.rows("message") == 0
    assert old(scene, "message") in scene.tables("message")


async def test_what_is_to_come_is_never_dropped(scene: Ages) -> None:
    tables = scene.tables("message")
    await scene.sweep(Retention(messages_before=scene.now + 1_000 * DAY))
    assert set(scene.tables("message")) >= set(tables) - {old(scene, "message")}


async def test_nothing_fails_and_nothing_is_lost_while_partitions_come_and_go(scene: Ages) -> None:
    for week in range(1, 5):
        start = scene.old_at - week * 7 * DAY
        await scene.age(start, start + 7 * DAY)
        await asyncio.gather(*(scene.put(start + number) for number in range(20)))
    await scene.deliver(scene.old_at)
    stop = asyncio.Event()

    async def go_on(at: float) -> list[str]:
        put = []
        while not stop.is_set():
            put.append((await scene.put(at)).id)
        return put

    # Some messages have ids from the time range of a partition that is being removed.
    times = (scene.now, scene.now, scene.now + 7 * DAY - 1, scene.old_at - 3 * DAY)
    adding = [asyncio.create_task(go_on(at)) for at in times]
    other = await PostgresStore.open(scene.url)
    try:
        for _ in range(20):
            both = (store.sweep(scene.quarter, limit=20) for store in (scene.store, other))
            await asyncio.gather(*both)
    finally:
        stop.set()
    put = [name for names in await asyncio.gather(*adding) for name in names]
    await scene.sweep()
    await other.close()
    waiting = await scene.due(limit=100_000)
    assert sorted(due.message for due in waiting) == sorted(put)
    assert all(due.payload is not None for due in waiting)
    assert len(scene.tables("message")) < 10


async def test_a_lock_that_is_not_free_holds_up_neither_the_sweep_nor_others(
    scene: Ages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "LOCK_PAUSES", (0.01,))
    await scene.put(scene.old_at + 1)
    await scene.deliver(scene.old_at + 60)
    with psycopg.connect(scene.url) as reader:
        reader.execute("SELECT count(*) FROM tarry.message")  # and does not end
        await scene.sweep()
        assert old(scene, "message") in scene.tables("message")
        await asyncio.wait_for(scene.put(scene.now), 120)
    await scene.sweep()
    assert old(scene, "message") not in scene.tables("message")


async def test_who_may_not_drop_tables_removes_rows(scene: Ages) -> None:
    await scene.put(scene.old_at + 1)
    await scene.deliver(scene.old_at + 60)
    role = Identifier(f"guest_{scene.old_at:.0f}")
    with psycopg.connect(scene.url, autocommit=True) as owner:
        owner.execute(SQL("CREATE ROLE {} LOGIN").format(role))
        owner.execute(SQL("GRANT USAGE ON SCHEMA tarry TO {}").format(role))
        owner.execute(SQL("GRANT ALL ON ALL TABLES IN SCHEMA tarry TO {}").format(role))
        try:
            guest = await PostgresStore.open(
                scene.url.replace("//postgres@", f"//guest_{scene.old_at:.0f}@")
            )
            while await guest.sweep(scene.quarter, limit=10):
                pass
            await guest.close()
        finally:
            owner.execute(SQL("DROP OWNED BY {}").format(role))
            owner.execute(SQL("DROP ROLE {}").format(role))
    assert old(scene, "message") in scene.tables("message")
    assert scene.rows("message") == scene.rows("attempt") == 0


async def test_a_pooler_may_be_in_between(scene: Ages) -> None:
    await scene.put(scene.old_at + 1)
    await scene.deliver(scene.old_at + 60)
    waits = await scene.put(scene.old_at + 2)
    async with pooler_of(scene.url) as (_, url):
        store = await PostgresStore.open(url)
        while await store.sweep(scene.quarter, limit=10):
            pass
        await store.close()
    assert old(scene, "message") not in scene.tables("message")
    assert (await scene.delivery(waits)).state is State.READY


async def test_who_keeps_more_after_all_stops_what_was_begun(scene: Ages) -> None:
    await scene.put(scene.old_at + 1)
    await scene.deliver(scene.old_at + 60)
    await scene.put(scene.old_at + 2)
    await scene.store.sweep(scene.quarter, limit=1)
    assert scene.rows("leaving") == 1
    await scene.sweep(Retention())
    assert scene.rows("leaving") == 0
    assert old(scene, "message") in scene.tables("message")

"""The effects of a resend on PostgreSQL while other transactions change the same rows."""

import asyncio
from typing import LiteralString

import psycopg
import pytest

from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Stream
from tarry.service.model.message import Message
from tarry.service.model.task import Task, Work
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, a_task, an_attempt, delivered, new_message
from tarry.testing.store_contract.scene import Scene
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio


async def resent_to(scene: Scene, endpoint: Endpoint) -> list[Resent]:
    """Return the results of all requested resends to an endpoint, all accepted."""
    due = await scene.due(Stream.RESEND, lane=endpoint.lane)
    attempts = [an_attempt(delivery, status=200, kind=None) for delivery in due]
    return [
        Resent(delivery.lane, delivery.resend, attempt, 1)
        for delivery, attempt in zip(due, attempts, strict=True)
    ]


async def test_a_message_that_is_resent_to_two_endpoints_at_once_has_a_place_in_both(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    message = await scene.add()
    late = [await scene.add_endpoint() for _ in range(2)]
    for endpoint in late:
        await store.resend(endpoint, message.id, resend="r1")
    resends = [resent for endpoint in reversed(late) for resent in await resent_to(scene, endpoint)]
    assert await scene.settle(*resends) == [True, True]
    with psycopg.connect(tarry_url) as look:
        positions = look.execute("SELECT lanes, seqs FROM tarry.message").fetchone()
    assert positions == ([scene.lane, *(endpoint.lane for endpoint in late)], [1, 1, 1])


async def resent_and_replayed(
    scene: Scene, store: PostgresStore
) -> tuple[Message, Endpoint, list[Resent], Task]:
    """Return a message, a new endpoint, the message's resend to it, and a task that replays it."""
    message = await scene.add()
    late = await scene.add_endpoint()
    await store.resend(late, message.id, resend="r1")
    resends = await resent_to(scene, late)
    task = a_task(late, Work.REPLAY_MISSING)
    await store.add_task(task)
    return message, late, resends, task


async def test_what_is_just_replayed_is_not_added_once_more(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    message, late, resends, task = await resent_and_replayed(scene, store)
    with psycopg.connect(tarry_url) as busy:
        busy.execute("SELECT FROM tarry.lane WHERE number = %s FOR UPDATE", [late.lane])
        replay = asyncio.create_task(store.advance(task, now=NOON, limit=9, lease=scene.lease))
        await someone_waits(tarry_url)  # it holds the message by now
        settling = asyncio.create_task(scene.settle(*resends))
        await asyncio.sleep(0.1)
        assert not settling.done()
        busy.rollback()
    assert (await replay).done == 1
    assert await settling == [True]
    assert (await scene.delivery(message, late)).state is State.READY
    row = await scene.row(late)
    assert (row.added, row.ended) == (1, 0)


async def test_what_was_just_added_is_not_replayed_once_more(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    message, late, resends, task = await resent_and_replayed(scene, store)
    with psycopg.connect(tarry_url) as busy:
        busy.execute("SELECT FROM tarry.lane WHERE number = %s FOR UPDATE", [late.lane])
        settling = asyncio.create_task(scene.settle(*resends))
        await someone_waits(tarry_url)
        replay = asyncio.create_task(store.advance(task, now=NOON, limit=9, lease=scene.lease))
        await asyncio.sleep(0.1)
        assert not replay.done()
        busy.rollback()
    assert await settling == [True]
    await replay
    assert (await scene.delivery(message, late)).state is State.DELIVERED
    row = await scene.row(late)
    assert (row.added, row.ended) == (1, 1)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("SELECT FROM tarry.delivery FOR UPDATE", "UPDATE tarry.lane SET version = version + 1"),
        (
            "UPDATE tarry.lane SET added = added",
            "UPDATE tarry.lane_state SET ended = ended",
        ),
    ],
    ids=["as_one_who_cancels", "as_one_who_adds"],
)
async def test_whoever_holds_something_gets_the_next_thing_while_a_resend_waits_for_it(
    scene: Scene, store: PostgresStore, tarry_url: str, first: LiteralString, then: LiteralString
) -> None:
    message = await scene.add()
    late = await scene.add_endpoint()
    await scene.add()
    await store.resend(late, message.id, resend="r1")
    due, resends = await scene.due(lane=late.lane), await resent_to(scene, late)
    with psycopg.connect(tarry_url) as other:
        other.execute("SET lock_timeout = '500ms'")
        other.execute(first)
        settling = asyncio.create_task(scene.settle(*map(delivered, due), *resends))
        await someone_waits(tarry_url)
        other.execute(then)
        other.rollback()
    assert await settling == [True, True]
    row = await scene.row(late)
    assert (row.added, row.ended) == (2, 2)


async def test_every_message_has_one_delivery_while_much_happens_to_the_same_lanes(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    old = [await scene.add() for _ in range(10)]
    late = [await scene.add_endpoint() for _ in range(2)]
    for round_ in range(5):
        fresh = [await scene.add() for _ in range(6)]
        for endpoint in late:
            for message in old[2 * round_ : 2 * round_ + 2]:
                await store.resend(endpoint, message.id, resend=f"r{round_}{message.id}")
        resends = [await resent_to(scene, endpoint) for endpoint in late]
        due = [await scene.due(lane=endpoint.lane, limit=3) for endpoint in late]
        batches: list[list[Settlement | Resent]] = [
            [*map(delivered, due[at]), *resends[1 - at]] for at in range(2)
        ]
        task = a_task(late[0], Work.REPLAY_MISSING)
        await store.add_task(task)
        await asyncio.gather(
            *(scene.settle(*batch) for batch in batches),
            *(store.cancel(scene.application.id, added.id, now=NOON) for added in fresh),
            store.add([new_message(scene.application) for _ in range(5)]),
            store.advance(task, now=NOON, limit=5, lease=scene.lease),
        )
    await scene.check_counts()
    with psycopg.connect(tarry_url) as look:
        twice = look.execute(
            "SELECT lane, message FROM tarry.delivery GROUP BY lane, message HAVING count(*) > 1"
        ).fetchall()
    assert twice == []

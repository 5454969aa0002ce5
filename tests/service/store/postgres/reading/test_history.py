import asyncio

import psycopg
import pytest

from tarry.errors import NotFound
from tarry.service.model.delivery import State
from tarry.service.store.kinds import Undelivered
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, delivered, failed, postponed
from tarry.testing.store_contract.scene import Scene
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio


async def test_what_is_settled_while_it_is_cancelled_is_cancelled_or_settled_but_not_both(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    message = await scene.add()
    (due,) = await scene.due()
    with psycopg.connect(tarry_url) as busy:
        busy.execute("SELECT FROM tarry.delivery FOR UPDATE")
        cancelling = asyncio.create_task(store.cancel(scene.application.id, message.id, now=NOON))
        await someone_waits(tarry_url)
        settling = asyncio.create_task(scene.settle(delivered(due)))
        busy.rollback()
    cancelled, (settled,) = await cancelling, await settling
    assert cancelled + settled == 1
    assert (await scene.row()).ended == 1


async def test_what_is_undelivered_is_listed_in_order_whatever_it_waits_for(
    scene: Scene, store: PostgresStore
) -> None:
    await scene.add_endpoint()
    for _ in range(6):
        await scene.add()
    first, second, third, *_ = await scene.due()
    await scene.settle(delivered(first), failed(second), postponed(third, NOON + 60))
    undelivered = [
        (delivery.lane, delivery.seq)
        for _, delivery in await store.read(Undelivered(scene.application.id, limit=100))
    ]
    assert undelivered == sorted(undelivered)
    assert len(undelivered) == 11
    rest = await store.read(Undelivered(scene.application.id, after=undelivered[6], limit=3))
    assert [(delivery.lane, delivery.seq) for _, delivery in rest] == undelivered[7:10]


async def test_a_resend_keeps_its_message_from_being_swept(
    scene: Scene, store: PostgresStore
) -> None:
    message = await scene.add()
    await scene.settle(delivered(*await scene.due()))
    await store.resend(scene.endpoint, message.id, resend="r1")
    assert await store.woken(scene.leases) == [scene.lane]
    with pytest.raises(NotFound):
        await store.resend(scene.endpoint, "msg_nobody", resend="r2")
    assert await store.counts(scene.lane) == {State.DELIVERED: 1}

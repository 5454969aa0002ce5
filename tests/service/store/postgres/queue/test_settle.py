import asyncio
from typing import LiteralString

import psycopg
import pytest
from msgspec.structs import replace

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Change, Known
from tarry.service.store.kinds import AllAttemptsOf, AllDeliveriesOf, Lanes
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, an_attempt, delivered, new_message, put_back
from tarry.testing.store_contract.scene import LEASE_LENGTH, Scene
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio


async def test_a_thousand_are_settled_in_one_call(scene: Scene, store: PostgresStore) -> None:
    await store.add([new_message(scene.application) for _ in range(1_000)])
    due = await scene.due(limit=1_000)
    assert len(due) == 1_000
    assert await scene.settle(*map(delivered, due)) == [True] * 1_000
    assert await store.counts(scene.lane) == {State.DELIVERED: 1_000}
    assert (await scene.row()).waiting == 0


async def test_the_same_delivery_twice_in_one_call_is_settled_in_turn(
    scene: Scene, store: PostgresStore
) -> None:
    message = await scene.add()
    (due,) = await scene.due()
    again = replace(due, tries=1)
    first = put_back(due, attempt=an_attempt(due))
    applied = await scene.settle(first, delivered(due), delivered(again), delivered(again))
    assert applied == [True, False, True, False]
    assert len(await store.read(AllAttemptsOf(message.id))) == 2


async def test_nobody_takes_the_shard_while_its_owner_writes(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    await scene.add()
    (due,) = await scene.due()
    with psycopg.connect(tarry_url) as busy:
        busy.execute("SELECT FROM tarry.delivery FOR UPDATE")
        settling = asyncio.create_task(scene.settle(delivered(due)))
        await someone_waits(tarry_url)  # it holds the shard by now
        assert await store.lease("worker-2", most=64, length=LEASE_LENGTH) == []
        busy.rollback()
    assert await settling == [True]


async def test_ingest_and_settling_do_not_wait_for_each_other(scene: Scene, tarry_url: str) -> None:
    await scene.add()
    (due,) = await scene.due()
    with psycopg.connect(tarry_url) as adding:
        adding.execute("UPDATE tarry.lane SET added = added + 1")
        assert await asyncio.wait_for(scene.settle(delivered(due)), 60) == [True]
        adding.rollback()
    with psycopg.connect(tarry_url) as settling:
        settling.execute("UPDATE tarry.lane_state SET ended = ended + 1")
        await asyncio.wait_for(scene.add(), 60)
        settling.rollback()


async def test_two_who_settle_many_lanes_in_opposite_orders_both_succeed(
    scene: Scene, store: PostgresStore
) -> None:
    for _ in range(5):
        await scene.add_endpoint()
    for _ in range(20):
        await scene.add()
    due = [
        delivery for endpoint in scene.endpoints for delivery in await scene.due(lane=endpoint.lane)
    ]
    halves = due[::2], due[1::2][::-1]
    answers = await asyncio.gather(*(scene.settle(*map(delivered, half)) for half in halves))
    assert all(all(applied) for applied in answers)
    for endpoint in scene.endpoints:
        assert (await store.get(Lanes(scene.application.id), endpoint.id)).waiting == 0


async def test_a_change_of_standing_reaches_whoever_adds(
    scene: Scene, store: PostgresStore
) -> None:
    await scene.add()
    change = Change(
        lane=scene.lane, epoch=1, at=NOON, standing=Standing.DISABLED, known=Known(failures=3)
    )
    await scene.settle(changes=[change])
    message = await scene.add()
    ((endpoint, delivery),) = await store.read(AllDeliveriesOf(message.id))
    assert endpoint.standing is Standing.DISABLED
    assert delivery.state is State.SKIPPED
    assert (await scene.row()).known == Known(failures=3)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (
            "UPDATE tarry.application SET version = version",
            "UPDATE tarry.lane SET version = version",
        ),
        (
            "SELECT FROM tarry.endpoint FOR UPDATE",
            "UPDATE tarry.lane SET version = version",
        ),
        ("SELECT FROM tarry.delivery FOR UPDATE", "UPDATE tarry.lane SET awake = awake"),
        ("UPDATE tarry.lane SET added = added", "UPDATE tarry.lane_state SET ended = ended"),
    ],
    ids=["as_one_who_changes", "as_one_who_resends", "as_one_who_cancels", "as_one_who_adds"],
)
async def test_whoever_holds_something_gets_the_next_thing_while_a_standing_waits_for_it(
    scene: Scene, tarry_url: str, first: LiteralString, then: LiteralString
) -> None:
    for _ in range(2):
        await scene.add_endpoint()
    await scene.add()
    lanes = [endpoint.lane for endpoint in scene.endpoints]
    due = [delivery for lane in lanes for delivery in await scene.due(lane=lane)]
    changes = [
        Change(lane=lane, epoch=1, at=NOON, standing=Standing.PARKED, known=Known(failures=1))
        for lane in reversed(lanes)
    ]
    with psycopg.connect(tarry_url) as other:
        other.execute("SET lock_timeout = '500ms'")
        other.execute(first)
        settling = asyncio.create_task(scene.settle(*map(delivered, due), changes=changes))
        await someone_waits(tarry_url)
        other.execute(then)
        other.rollback()
    assert await settling == [True] * 3
    for endpoint in scene.endpoints:
        row = await scene.row(endpoint)
        assert (row.endpoint.standing, row.ended) == (Standing.PARKED, 1)


async def test_two_changes_of_a_standing_in_one_call_are_made_in_turn(scene: Scene) -> None:
    changes = [
        Change(lane=scene.lane, epoch=1, at=NOON, standing=Standing.PARKED),
        Change(lane=scene.lane, epoch=1, at=NOON + 1, standing=Standing.ENABLED),
    ]
    await scene.settle(changes=changes)
    endpoint = (await scene.row()).endpoint
    assert (endpoint.standing, endpoint.parked) == (Standing.ENABLED, ((NOON, NOON + 1),))


async def test_text_that_postgresql_refuses_is_no_unavailability_and_nothing_is_kept(
    scene: Scene,
) -> None:
    await scene.add()
    await scene.add()
    fine, odd = await scene.due()
    refused = delivered(odd, attempt=an_attempt(odd, decision="a\0b"))
    with pytest.raises(StoreError) as caught:
        await scene.settle(delivered(fine), refused)
    assert not isinstance(caught.value, StoreUnavailable)
    assert await scene.due() == [fine, odd]

"""Endpoints come and go: parked, paused, disabled, deleted, and what becomes of what waits."""

import asyncio

import pytest

from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.settings import DAY, HOUR, Limits, Parking
from tarry.service.model.task import Work
from tarry.service.store.kinds import (
    AllAttemptsOf,
    AllTasksOf,
    Endpoints,
    Lanes,
    Notices,
    Undelivered,
)
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import a_task
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, VirtualService, virtual_service

SELDOM = Limits(lease=600, look=300, keep_up=600, watch=HOUR)
SOON = Parking(after=10 * HOUR, over=HOUR)


async def standing(service: VirtualService, endpoint: Endpoint) -> Standing:
    return (await service.store.get(Endpoints(endpoint.application), endpoint.id)).standing


@virtually
async def test_an_endpoint_that_takes_nothing_is_warned_of_and_then_parked() -> None:
    async with virtual_service(limits=SELDOM, parking=SOON) as service:
        began_at = service.now()
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: DOWN)
        await service.add(3)
        await asyncio.sleep(11 * HOUR)
        notices = await service.store.read(Notices())
        assert [(notice.kind, notice.facts.get("share")) for notice in notices] == [
            ("endpoint.failing", 0.5),
            ("endpoint.failing", 0.75),
            ("endpoint.failing", 0.9),
            ("endpoint.disabled", None),
        ]
        for notice, share in zip(notices, (0.5, 0.75, 0.9, 1.0), strict=True):
            assert 0 <= notice.at - began_at - share * 10 * HOUR < 700
        assert await standing(service, endpoint) is Standing.PARKED
        sent = len(service.sender.sent)
        await service.add(2)
        await asyncio.sleep(20 * DAY)
        assert len(service.sender.sent) == sent
        assert await service.counts(endpoint) == {State.READY: 5}


@virtually
async def test_what_was_parked_is_not_older_for_it_and_comes_at_a_pace() -> None:
    async with virtual_service(limits=SELDOM, parking=SOON) as service:
        back_at = service.now() + 20 * DAY
        endpoint = await service.add_endpoint(
            "a.example", lambda _request, now: DOWN if now < back_at else OK
        )
        await service.add(500)
        await asyncio.sleep(20 * DAY)
        sent = len(service.sender.sent)
        row = await service.store.get(Lanes(endpoint.application), endpoint.id)
        (since, until), *_ = row.endpoint.parked
        assert until is None
        now = service.now()
        await service.change(endpoint, standing=Standing.ENABLED, parked=((since, now),))
        await asyncio.sleep(1)
        assert len(service.sender.sent) - sent < 60
        await service.until_delivered(endpoint, within=600)
        assert await service.counts(endpoint) == {State.DELIVERED: 500}


@virtually
async def test_one_bad_minute_parks_nobody_and_one_success_clears_all() -> None:
    async with virtual_service(limits=SELDOM, parking=SOON) as service:
        began_at = service.now()

        def script(_request: Request, now: float) -> Answer:
            return DOWN if (now - began_at) % (9 * HOUR) < 8 * HOUR else OK

        endpoint = await service.add_endpoint("a.example", script)
        for _ in range(40):
            await service.add()
            await asyncio.sleep(HOUR)
        kinds = {notice.kind for notice in await service.store.read(Notices())}
        assert {kind for kind in kinds if kind.startswith("endpoint.")} == {"endpoint.failing"}
        assert await standing(service, endpoint) is Standing.ENABLED


@virtually
async def test_what_is_skipped_while_disabled_can_be_had_later() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(2)
        await asyncio.sleep(1)
        await service.change(endpoint, standing=Standing.DISABLED)
        since = service.now()
        skipped = await service.add(5)
        await asyncio.sleep(1)
        assert await service.counts(endpoint) == {State.DELIVERED: 2, State.SKIPPED: 5}
        await service.change(endpoint, standing=Standing.ENABLED)
        await service.store.add_task(a_task(endpoint, Work.REPLAY_MISSING, since=since))
        await asyncio.sleep(5)
        assert await service.counts(endpoint) == {State.DELIVERED: 7}
        assert [sent.message for sent in service.sender.sent[2:]] == skipped


@virtually
async def test_a_pause_sends_nothing_and_loses_nothing() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.change(endpoint, standing=Standing.PAUSED)
        await service.add(50)
        await asyncio.sleep(HOUR)
        assert service.sender.sent == []
        await service.change(endpoint, standing=Standing.ENABLED)
        await service.until_delivered(endpoint, within=60)
        assert await service.counts(endpoint) == {State.DELIVERED: 50}


@virtually
async def test_what_waits_too_long_for_an_endpoint_ends_and_is_told() -> None:
    async with virtual_service(limits=SELDOM) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.change(endpoint, standing=Standing.PAUSED)
        await service.add(1200)
        await asyncio.sleep(5 * DAY + 1300)
        assert await service.counts(endpoint) == {State.FAILED: 1200}
        (one,) = await service.store.read(Undelivered(service.application.id, limit=1))
        assert one[1].reason is Reason.AGED


@virtually
async def test_a_deleted_endpoint_gets_nothing_more_and_its_queue_is_discarded() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: DOWN)
        healthy = await service.add_endpoint("b.example")
        await service.add(20_000)
        await asyncio.sleep(30)
        await service.store.delete(
            Endpoints(service.application.id), endpoint.id, now=service.now()
        )
        sent = sum(one.host == "a.example" for one in service.sender.sent)
        await service.until_delivered(endpoint, within=30)
        counts = await service.counts(endpoint)
        assert counts == {State.DISCARDED: 20_000}
        await service.until_delivered(healthy, within=200)
        assert sum(one.host == "a.example" for one in service.sender.sent) == sent
        (task,) = await service.store.read(AllTasksOf(service.application.id))
        assert task.finished_at is not None
        assert task.done == 20_000


@pytest.mark.parametrize(
    ("how", "state"),
    [
        ("cancel", State.CANCELLED),
        ("delete", State.DISCARDED),
        ("disable", State.DELIVERED),
        ("pause", State.DELIVERED),
    ],
)
@virtually
async def test_what_is_on_its_way_when_somebody_stops_it_is_on_record(
    how: str, state: State
) -> None:
    async with virtual_service() as service:
        slow = Answer(9.0, status=200, body=b"thanks")
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: slow)
        (message,) = await service.add()
        await asyncio.sleep(3)
        owner, now = service.application.id, service.now()
        if how == "cancel":
            await service.store.cancel(owner, message, now=now)
        elif how == "delete":
            await service.store.delete(Endpoints(owner), endpoint.id, now=now)
        else:
            standing = Standing.DISABLED if how == "disable" else Standing.PAUSED
            await service.change(endpoint, standing=standing)
        await asyncio.sleep(60)
        delivery = await service.delivery(message)
        assert (delivery.state, delivery.tries) == (state, 1)
        (attempt,) = await service.store.read(AllAttemptsOf(message))
        assert (attempt.status, attempt.body, attempt.number) == (200, b"thanks", 1)
        assert await service.waiting(endpoint) == 0
        assert len(service.sender.sent) == 1


@virtually
async def test_new_settings_apply_to_what_waits() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: DOWN)
        (message,) = await service.add()
        await asyncio.sleep(120)
        policy = '{"version": 1, "attempts": 1, "backoff": {"kind": "fixed", "delay": 1}}'
        service.sender.scripts["b.example"] = lambda _request, _now: DOWN
        await service.change(endpoint, policy=policy, url="https://b.example/in")
        await asyncio.sleep(120)
        delivery = await service.delivery(message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.EXHAUSTED)
        assert service.sender.sent[-1].host == "b.example"

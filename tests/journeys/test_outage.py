"""An outage costs no delivery its retries, however long it lasts and whoever else waits."""

import asyncio
import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import cycle

import pytest

from tarry.core.backoff import Fixed
from tarry.core.pace import Phase
from tarry.service.explain import outlook
from tarry.service.model.delivery import Reason, State
from tarry.service.model.settings import DAY, DELIVERY, HOUR, Limits
from tarry.service.store.kinds import Lanes, Notices, Undelivered
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    Script,
    VirtualService,
    status,
    takes_all_but,
    virtual_service,
)
from tests.journeys.seeds import seeded

SELDOM = Limits(lease=600, look=300, keep_up=600, watch=HOUR)
TEN_MINUTES = 600.0
MOST = 2_000
"""The most requests in four days, however many deliveries wait."""
VERY_LONG = [pytest.mark.long, pytest.mark.timeout(3600)]


def down_for(service: VirtualService, seconds: float, how: Answer = DOWN) -> Script:
    until = service.now() + seconds
    return lambda _request, now: how if now < until else OK


def most_in_ten_minutes(instants: Sequence[float]) -> int:
    return max(bisect_left(instants, at + TEN_MINUTES) - place for place, at in enumerate(instants))


def probes(service: VirtualService, since: float) -> list[float]:
    """When something was sent, but for the first moments: only they showed that it is down."""
    return [sent.at for sent in service.sender.sent if sent.at >= since]


@virtually
async def test_a_quiet_endpoint_that_is_down_for_four_days_gets_its_only_message_after() -> None:
    async with virtual_service(limits=SELDOM) as service:
        endpoint = await service.add_endpoint("a.example", down_for(service, 4 * DAY))
        (message,) = await service.add()
        await asyncio.sleep(4 * DAY)
        delivery = await service.delivery(message)
        assert (delivery.state, delivery.reason) == (State.READY, Reason.LANE_OPEN)
        assert delivery.attempts == 0
        assert most_in_ten_minutes(probes(service, 0.0)) <= 23
        assert len(service.sender.sent) <= 300
        assert await service.until_delivered(endpoint, within=HOUR + 1) <= HOUR + 1
        told = [
            one for one in await service.store.read(Notices()) if one.kind == "endpoint.failing"
        ]
        assert [notice.facts["share"] for notice in told] == [0.5, 0.75]


@virtually
async def test_five_attempts_are_enough_to_tell_that_an_endpoint_is_down() -> None:
    async with virtual_service(limits=SELDOM, policy=DELIVERY.replace(attempts=5)) as service:
        endpoint = await service.add_endpoint("a.example", down_for(service, DAY))
        (message,) = await service.add()
        await asyncio.sleep(DAY)
        assert (await service.delivery(message)).attempts == 0
        assert await service.until_delivered(endpoint, within=HOUR + 1) <= HOUR + 1


@pytest.mark.parametrize(("attempts", "lost"), [(1, 5), (2, 2), (4, 1)])
@virtually
async def test_with_few_attempts_only_the_first_messages_of_an_outage_are_lost(
    attempts: int, lost: int
) -> None:
    policy = DELIVERY.replace(attempts=attempts, backoff=Fixed(1))
    async with virtual_service(limits=SELDOM, policy=policy) as service:
        endpoint = await service.add_endpoint("a.example", down_for(service, HOUR))
        for _ in range(40):
            await service.add()
            await asyncio.sleep(60)  # each time the lane has gone to rest
        await asyncio.sleep(HOUR)
        assert await service.counts(endpoint) == {State.FAILED: lost, State.DELIVERED: 40 - lost}


@pytest.mark.parametrize("waiting", [1000, pytest.param(10_000, marks=VERY_LONG)])
@virtually
async def test_a_busy_endpoint_loses_nothing_and_is_asked_rarely(waiting: int) -> None:
    lasts = 4 * DAY
    async with virtual_service(limits=SELDOM) as service:
        began_at = service.now()
        endpoint = await service.add_endpoint("a.example", down_for(service, lasts))
        await service.add(waiting)
        await asyncio.sleep(lasts)
        assert await service.counts(endpoint) == {State.READY: waiting}
        found = await service.store.read(Undelivered(service.application.id, limit=waiting))
        assert {delivery.attempts for _, delivery in found} == {0}
        made = probes(service, began_at + 1)
        assert bisect_left(made, began_at + TEN_MINUTES) <= max(20, 3 * waiting // 100)
        assert len(made) <= MOST
        took = await service.until_delivered(endpoint, within=HOUR + 60)
        assert took < 0.01 * lasts + 60
        assert await service.counts(endpoint) == {State.DELIVERED: waiting}


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=VERY_LONG)])
@virtually
async def test_the_endpoints_behind_a_dead_gateway_are_asked_as_one(count: int) -> None:
    lasts = 4 * DAY
    async with virtual_service(limits=SELDOM) as service:
        began_at = service.now()
        script = down_for(service, lasts)
        endpoints = [
            await service.add_endpoint("gw.example", script, path=f"/{number}")
            for number in range(count)
        ]
        await service.add()
        await asyncio.sleep(lasts)
        assert {sent.host for sent in service.sender.sent} == {"gw.example"}
        # All of them found out for themselves at first, as nothing had failed before.
        made = probes(service, began_at + 1)
        assert bisect_left(made, began_at + TEN_MINUTES) <= max(20, 3 * count // 100)
        assert len(made) <= MOST
        back_at = service.now()
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=HOUR + 60)
        assert service.now() - back_at < HOUR + 60
        for endpoint in endpoints:
            assert await service.counts(endpoint) == {State.DELIVERED: 1}


@virtually
async def test_a_crash_in_the_midst_of_an_outage_changes_nothing() -> None:
    async with virtual_service(limits=SELDOM) as service:
        endpoint = await service.add_endpoint("a.example", down_for(service, 6 * HOUR))
        (message,) = await service.add()
        for _ in range(3):
            await asyncio.sleep(HOUR)
            await service.crash()
            await asyncio.sleep(SELDOM.lease + 1)
            await service.start()
        await asyncio.sleep(2 * HOUR)
        assert (await service.delivery(message)).attempts == 0
        instants = [sent.at for sent in service.sender.sent]
        assert most_in_ten_minutes(instants) <= 20
        assert await service.until_delivered(endpoint, within=HOUR) < HOUR


@virtually
async def test_a_restart_goes_on_with_the_probes_where_it_was() -> None:
    async with virtual_service(limits=SELDOM) as service:
        await service.add_endpoint("a.example", down_for(service, DAY))
        await service.add()
        await asyncio.sleep(HOUR)
        for _ in range(10):
            await service.stop()
            await service.start()
            await asyncio.sleep(10)
        instants = [sent.at for sent in service.sender.sent]
        assert most_in_ten_minutes(instants) <= 20


@pytest.mark.parametrize("answer", [status(404), status(500)])
@virtually
async def test_a_kind_that_was_never_taken_lives_through_an_outage_as_well(answer: Answer) -> None:
    async with virtual_service(limits=SELDOM) as service:
        began_at = service.now()
        endpoint = await service.add_endpoint(
            "a.example",
            lambda _request, now: answer if 10 < now - began_at < 4 * DAY else OK,
        )
        await service.add(event_type="order.paid")
        await asyncio.sleep(20)
        (message,) = await service.add(event_type="order.lost")
        await asyncio.sleep(4 * DAY)
        await service.until_delivered(endpoint, within=HOUR)
        assert (await service.delivery(message)).state is State.DELIVERED


@pytest.mark.parametrize("first", [404, 503])
@virtually
async def test_an_outage_that_answers_by_turns_costs_nothing_either(first: int) -> None:
    async with virtual_service(limits=SELDOM) as service:
        began_at, last = service.now(), 503 if first == 404 else 404
        codes = cycle([first, last])
        endpoint = await service.add_endpoint(
            "a.example",
            lambda _request, now: status(next(codes)) if now - began_at < 4 * DAY else OK,
        )
        (message,) = await service.add()
        await asyncio.sleep(4 * DAY)
        await service.until_delivered(endpoint, within=HOUR)
        assert (await service.delivery(message)).state is State.DELIVERED


@virtually
async def test_those_that_always_fail_keep_no_endpoint_at_a_pace_that_is_back() -> None:
    chance = seeded(7)
    async with virtual_service() as service:
        began_at, bad, good = service.now(), set[str](), dict[str, float]()

        def script(request: Request, now: float) -> Answer:
            if 100 < now - began_at < 130:
                return DOWN
            return status(500) if dict(request.headers)["webhook-id"] in bad else OK

        endpoint = await service.add_endpoint("a.example", script)
        for _ in range(2000):
            (message,) = await service.add()
            if chance.random() < 0.1:
                bad.add(message)
            else:
                good[message] = service.now()
            await asyncio.sleep(0.2)
        lane = await service.store.get(Lanes(endpoint.application), endpoint.id)
        assert outlook(lane, now=service.now()).phase is Phase.CLOSED
        taken = {one.message: one.at for one in service.sender.sent if one.answer.status == 200}
        late = [at for message, at in good.items() if taken.get(message, math.inf) > at + 1]
        assert late
        assert max(late) < began_at + 200


@virtually
async def test_one_that_moves_away_from_who_refused_it_starts_anew() -> None:
    async with virtual_service() as service:
        for host in ("a.example", "b.example"):
            service.sender.scripts[host] = lambda _request, _now: status(401)
        endpoint = await service.add_endpoint("a.example")
        (message,) = await service.add()
        await asyncio.sleep(2 * HOUR)
        await service.move(endpoint, "https://b.example/in")
        await asyncio.sleep(1)
        lane = await service.store.get(Lanes(endpoint.application), endpoint.id)
        assert outlook(lane, now=service.now()).phase is Phase.CLOSED
        assert lane.known.failures == 0
        await asyncio.sleep(HOUR)
        lane = await service.store.get(Lanes(endpoint.application), endpoint.id)
        assert outlook(lane, now=service.now()).phase is Phase.OPEN
        assert (await service.delivery(message)).attempts == 0


@virtually
async def test_another_origin_is_tried_at_once_and_the_same_one_is_not() -> None:
    async with virtual_service(limits=SELDOM) as service:
        endpoint = await service.add_endpoint("a.example", down_for(service, DAY))
        (message,) = await service.add()
        await asyncio.sleep(HOUR)
        sent = len(service.sender.sent)
        await service.move(endpoint, "https://a.example/other")
        await asyncio.sleep(1)
        assert len(service.sender.sent) - sent <= 1
        await service.move(endpoint, "https://b.example/in")
        await asyncio.sleep(1)
        delivery = await service.delivery(message)
        assert delivery.state is State.DELIVERED
        assert service.sender.sent[-1].host == "b.example"


@pytest.mark.parametrize("code", [301, 401, 403, 404, 405, 500, 503])
@virtually
async def test_a_deploy_that_answers_anything_for_two_minutes_destroys_nothing(code: int) -> None:
    async with virtual_service() as service:
        began_at = service.now()
        endpoint = await service.add_endpoint(
            "a.example",
            lambda _request, now: status(code) if 60 < now - began_at < 180 else OK,
        )
        for _ in range(240):
            await service.add(2)
            await asyncio.sleep(1)
        await service.until_delivered(endpoint, within=120)
        assert await service.counts(endpoint) == {State.DELIVERED: 480}
        failed = [sent for sent in service.sender.sent if sent.answer.status == code]
        assert len(failed) <= 40


@virtually
async def test_a_new_message_does_not_wait_for_one_in_backoff() -> None:
    async with virtual_service() as service:
        poison: list[str] = []
        await service.add_endpoint("a.example", takes_all_but(poison, status(500)))
        poison += await service.add()
        for _ in range(5):
            await asyncio.sleep(300)
            (message,) = await service.add()
            await asyncio.sleep(0.1)
            assert (await service.delivery(message)).state is State.DELIVERED
        assert (await service.delivery(*poison)).state is State.WAITING


@virtually
async def test_a_new_message_does_not_wait_for_one_that_hangs() -> None:
    async with virtual_service() as service:
        slow: list[str] = []
        await service.add_endpoint("a.example", takes_all_but(slow, Answer(14.0, status=200)))
        slow += await service.add()
        for _ in range(5):
            await asyncio.sleep(1)
            (message,) = await service.add()
            await asyncio.sleep(0.2)
            assert (await service.delivery(message)).state is State.DELIVERED
        assert (await service.delivery(*slow)).state is State.READY


@pytest.mark.parametrize("lasts", [60, 7200])
@virtually
async def test_a_new_message_does_not_wait_for_all_that_are_tried_before_it(lasts: float) -> None:
    async with virtual_service() as service:
        bad: list[str] = []
        endpoint = await service.add_endpoint("a.example", takes_all_but(bad, status(500)))
        bad += await service.add(100)
        await asyncio.sleep(lasts)
        lane = await service.store.get(Lanes(endpoint.application), endpoint.id)
        assert outlook(lane, now=service.now()).phase is Phase.OPEN
        (good,) = await service.add()
        tried = len(service.sender.sent)
        while len(service.sender.sent) < tried + 2:  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(1)
        assert good in {one.message for one in service.sender.sent[tried : tried + 2]}

"""Wall clocks that step, in virtual time: nothing is sent early, nothing waits longer for it."""

import asyncio

import pytest

from tarry.core.backoff import Fixed
from tarry.core.jitter import NoJitter
from tarry.core.policy import Policy
from tarry.core.text import to_json
from tarry.service.model.application import SHARDS
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.settings import DAY, HOUR, Limits
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import OK, Script, VirtualService, status, virtual_service

LIMITS = Limits(lease=10, look=1, keep_up=60)
WAIT = 30.0
SLOW = to_json(Policy(backoff=Fixed(WAIT), jitter=NoJitter(), attempts=5, within=None))
SHORT_LIVED = to_json(Policy(backoff=Fixed(WAIT), jitter=NoJitter(), attempts=None, within=200))
STEPS = [HOUR, -HOUR, DAY, -DAY]


def sent_at(service: VirtualService, message: str) -> list[float]:
    """Return when each request for a message was sent, by a clock that does not step."""
    return [one.at for one in service.sender.sent if one.message == message]


@pytest.mark.parametrize("step", STEPS)
@virtually
async def test_a_step_during_an_attempt_neither_sends_early_nor_strands(step: float) -> None:
    async with virtual_service(limits=LIMITS) as service:

        def fails_while_the_clock_steps(_request: Request, _now: float) -> Answer:
            service.step = step
            service.sender.scripts["a.example"] = lambda _request, _now: OK
            return status(500)

        endpoint = await service.add_endpoint("a.example", fails_while_the_clock_steps, policy=SLOW)
        (message,) = await service.add()
        await service.until_delivered(endpoint, within=2 * WAIT)
        first, second = sent_at(service, message)
        assert second - first == pytest.approx(WAIT, abs=0.5)


@pytest.mark.parametrize("step", STEPS)
@virtually
async def test_a_step_during_a_wait_neither_sends_early_nor_strands(step: float) -> None:
    async with virtual_service(limits=LIMITS) as service:
        endpoint = await service.add_endpoint(
            "a.example", lambda _request, _now: status(500), policy=SLOW
        )
        (message,) = await service.add()
        await asyncio.sleep(5)
        service.step = step
        service.sender.scripts["a.example"] = lambda _request, _now: OK
        await service.until_delivered(endpoint, within=2 * WAIT)
        first, second = sent_at(service, message)
        assert second - first == pytest.approx(WAIT, abs=0.5)


@pytest.mark.parametrize("step", STEPS)
@virtually
async def test_after_a_step_receivers_find_the_time_of_the_wall_clock_in_signatures(
    step: float,
) -> None:
    async with virtual_service(limits=LIMITS) as service:
        stamps = []

        def script(request: Request, _now: float) -> Answer:
            stamps.append(float(dict(request.headers)["webhook-timestamp"]) - service.wall())
            return OK

        endpoint = await service.add_endpoint("a.example", script)
        service.step = step
        await asyncio.sleep(LIMITS.lease)
        await service.add()
        await service.until_delivered(endpoint, within=1)
        assert stamps == [pytest.approx(0, abs=1)]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("accepted", ["before", "after"])
@virtually
async def test_a_step_ends_no_delivery_before_its_time(step: float, accepted: str) -> None:
    async with virtual_service(limits=LIMITS) as service:
        endpoint = await service.add_endpoint(
            "a.example",
            lambda _request, _now: status(500),
            policy=SHORT_LIVED,
        )
        if accepted == "before":
            await service.add()
        await asyncio.sleep(LIMITS.lease)
        service.step = step
        await asyncio.sleep(LIMITS.lease)
        if accepted == "after":
            await service.add()
        await asyncio.sleep(2 * WAIT)
        service.sender.scripts["a.example"] = lambda _request, _now: OK
        await service.until_delivered(endpoint, within=60)
        assert await service.counts(endpoint) == {State.DELIVERED: 1}


async def tenants(service: VirtualService, script: Script, count: int = 40) -> dict[str, Endpoint]:
    """Make applications in many shards; return the endpoint of each message that they send."""
    found = {}
    for number in range(count):
        owner = await service.add_application()
        endpoint = await service.add_endpoint(
            f"{number}.example", script, application=owner, policy=SLOW
        )
        (message,) = await service.add(1, owner)
        found[message] = endpoint
    return found


@pytest.mark.parametrize("step", STEPS)
@virtually
async def test_a_step_takes_no_shard_from_another_worker_that_is_alive(step: float) -> None:
    async with virtual_service(limits=LIMITS) as service:
        other = VirtualService(beside=service, limits=LIMITS)
        await other.start()
        await asyncio.sleep(LIMITS.lease)
        held = [set(one.dispatcher.shards.owned) for one in (service, other)]
        endpoints = await tenants(service, lambda _request, _now: status(500))
        await asyncio.sleep(0.005)  # all are on their way
        service.step = step
        await asyncio.sleep(WAIT / 2)
        assert [set(one.dispatcher.shards.owned) for one in (service, other)] == held
        for endpoint in endpoints.values():
            service.sender.scripts[endpoint.url.split("/")[2]] = lambda _request, _now: OK
        for endpoint in endpoints.values():
            await service.until_delivered(endpoint, within=2 * WAIT)
        for message in endpoints:
            first, second = sent_at(service, message)
            assert second - first == pytest.approx(WAIT, abs=1)
        await other.stop()


@pytest.mark.parametrize("step", STEPS)
@virtually
async def test_a_step_does_not_keep_the_shards_of_a_worker_that_died(step: float) -> None:
    async with virtual_service(limits=LIMITS) as service:
        other = VirtualService(beside=service, limits=LIMITS)
        await other.start()
        await asyncio.sleep(LIMITS.lease)
        service.step = step
        await other.crash()
        endpoints = await tenants(service, lambda _request, _now: OK)
        for endpoint in endpoints.values():
            await service.until_delivered(endpoint, within=3 * LIMITS.lease)
        assert len(service.dispatcher.shards.owned) == SHARDS


@pytest.mark.parametrize("step", STEPS)
@virtually
async def test_a_step_while_nobody_runs_keeps_no_new_message_waiting(step: float) -> None:
    async with virtual_service(limits=LIMITS) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.crash()
        service.step = step
        await service.add()
        await service.start()
        await service.until_delivered(endpoint, within=2 * LIMITS.lease)

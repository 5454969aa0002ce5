"""A receiver fails by chance, whatever the pace: that is no outage and no overload."""

import asyncio
import math

import pytest

from tarry.core.outcome import Kind
from tarry.service.model.delivery import State
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import VirtualService, virtual_service
from tests.journeys.seeds import seeded

TENANTS = 4


async def waits(service: VirtualService, share: float, sizes: list[int], seed: int) -> list[float]:
    """Send batches of these sizes for each tenant, ten a second, to one receiver.

    Return how long each message waited for its first attempt.
    """
    chance = seeded(seed)

    def unreliable(_request: Request, _now: float) -> Answer:
        return Answer(0.02, status=500 if chance.random() < share else 200)

    tenants = [await service.add_application() for _ in range(TENANTS)]
    for tenant in tenants:
        await service.add_endpoint("a.example", unreliable, application=tenant)
    added: dict[str, float] = {}
    for size in sizes:
        for tenant in tenants:
            messages = await service.add(size, application=tenant)
            added.update(dict.fromkeys(messages, service.now()))
        await asyncio.sleep(0.1)
    await asyncio.sleep(10)
    first: dict[str, float] = {}
    for sent in service.sender.sent:
        first.setdefault(sent.message, sent.at)
    return [first.get(message, math.inf) - at for message, at in added.items()]


@pytest.mark.parametrize("seed", [2, 7, 16])  # their first five answers are failures
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("sizes", [[1] * 150, [200], [6] * 60], ids=["a few", "a burst", "many"])
@virtually
async def test_what_fails_by_chance_keeps_no_message_waiting(
    share: float, sizes: list[int], seed: int
) -> None:
    async with virtual_service() as service:
        assert max(await waits(service, share, sizes, seed=seed)) < 5


@pytest.mark.parametrize("seed", range(4))
@virtually
async def test_new_lanes_expect_the_failures_that_their_origin_is_known_for(seed: int) -> None:
    async with virtual_service() as service:
        await waits(service, 0.5, [1] * 20, seed=seed)
        for number in range(10):  # with four new tenants each
            assert max(await waits(service, 0.5, [1] * 20, seed=100 * number + seed)) < 5


@virtually
async def test_an_endpoint_that_hangs_where_others_fail_by_chance_costs_no_attempts() -> None:
    async with virtual_service() as service:
        await waits(service, 0.5, [1] * 20, seed=7)
        others = service.sender.scripts["a.example"]

        def hangs(request: Request, now: float) -> Answer:
            if request.target.path == "/hangs":
                return Answer(2.0, failure=Kind.TIMEOUT)
            return others(request, now)

        tenant = await service.add_application()
        policy = '{"version": 1, "attempts": 4, "backoff": {"kind": "fixed", "delay": 0.5}, '
        policy += '"attempt_timeout": 2}'
        await service.add_endpoint(
            "a.example", hangs, application=tenant, path="/hangs", concurrency=1, policy=policy
        )
        messages = await service.add(3, application=tenant)
        await asyncio.sleep(60)
        service.sender.scripts["a.example"] = lambda _request, _now: Answer(0.02, status=200)
        await asyncio.sleep(60)
        states = {(await service.delivery(message)).state for message in messages}
        assert states == {State.DELIVERED}

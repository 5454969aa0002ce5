"""Wall clocks that step, in virtual time: nothing is sent early, nothing waits longer for it."""

import asyncio

import pytest

from tarry.core.backoff import Fixed
from tarry.core.jitter import NoJitter
from tarry.core.policy import Policy
from tarry.core.text import to_json
from tarry.service.model.settings import DAY, HOUR, Limits
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import OK, VirtualService, status, virtual_service

LIMITS = Limits(lease=10, look=1, keep_up=60)
WAIT = 30.0
SLOW = to_json(Policy(backoff=Fixed(WAIT), jitter=NoJitter(), attempts=5, within=None))
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

"""An endpoint that accepts a number of requests a second and asks for a pause when it gets more."""

import asyncio

import pytest

from tarry.service.wire.exchange import Answer, Request
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import OK, status, virtual_service


class Bucket:
    """A receiver with a token bucket: it answers 429 with Retry-After once the bucket is empty."""

    def __init__(self, rate: float, burst: float, pause: str) -> None:
        self._rate, self._burst, self._tokens = rate, burst, burst
        self._busy = status(429, retry_after=pause)
        self._last = 0.0
        self.refused = 0

    def __call__(self, _request: Request, now: float) -> Answer:
        self._tokens = min(self._burst, self._tokens + (now - self._last) * self._rate)
        self._last = now
        if self._tokens < 1:
            self.refused += 1
            return self._busy
        self._tokens -= 1
        return OK


@pytest.mark.parametrize(("rate", "pause"), [(10, "3"), (4, "3"), (1, "5")])
@virtually
async def test_a_backlog_goes_about_as_fast_as_the_endpoint_accepts_it(
    rate: int, pause: str
) -> None:
    async with virtual_service() as service:
        bucket = Bucket(rate, rate, pause)
        endpoint = await service.add_endpoint("a.example", bucket)
        await service.add(50 * rate)
        await service.until_delivered(endpoint, within=1.5 * 50)
        assert bucket.refused <= 30


@virtually
async def test_a_backlog_does_not_grow_while_the_endpoint_could_accept_more() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", Bucket(10, 10, "3"))
        await service.add(40)
        waiting = []
        for _ in range(300):
            for _ in range(8):
                await service.add()
                await asyncio.sleep(1 / 8)
            waiting.append(await service.waiting(endpoint))
        assert max(waiting[150:]) < 150
        assert sum(waiting[-60:]) <= sum(waiting[60:120])


@virtually
async def test_a_burst_that_is_refused_holds_the_others_only_for_the_pause() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", Bucket(10, 10, "3"))
        await service.add(60)
        await service.until_delivered(endpoint, within=25)

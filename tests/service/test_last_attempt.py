import asyncio

import pytest

from tarry.service import Hooks
from tarry.service.last_attempt import attempted_at, last_attempt
from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt
from tarry.service.model.endpoint import Endpoint
from tarry.testing.receiver import Receiver

pytestmark = pytest.mark.anyio


async def attempted(hooks: Hooks, endpoint: Endpoint) -> Attempt:
    """Send a message, wait until its attempt is recorded, and return the last attempt."""
    accepted = await hooks.send(await hooks.application("shop"), "order.paid", {})
    async with asyncio.timeout(60):
        while (found := await last_attempt(hooks.store, endpoint)) is None or (  # noqa: ASYNC110  nobody tells
            found.message != accepted.message.id
        ):
            await asyncio.sleep(0.01)
    return found


async def test_the_last_attempt_is_found_whether_it_failed_or_not(
    hooks: Hooks, shop: Application
) -> None:
    with Receiver() as receiver:
        receiver.script([200, 500])
        endpoint = await hooks.add_endpoint(shop, receiver.url)
        assert await last_attempt(hooks.store, endpoint) is None
        assert await attempted_at(hooks.store, endpoint) is None
        async with hooks.dispatching():
            first = await attempted(hooks, endpoint)
            second = await attempted(hooks, endpoint)
    assert (first.status, second.status) == (200, 500)
    assert await attempted_at(hooks.store, endpoint) == second.now

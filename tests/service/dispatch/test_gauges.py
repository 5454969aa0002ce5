import asyncio

import pytest

from tarry.core.pace import Phase
from tarry.service import open_hooks
from tarry.service.dispatch.gauges import gauges
from tarry.service.wire.seal import generate_key
from tarry.testing.receiver import Receiver

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.slow
async def test_what_was_sent_and_what_waits_is_counted() -> None:
    with Receiver() as receiver:
        keys, here = generate_key("k"), ("127.0.0.0/8",)
        async with open_hooks("memory:", sealing_keys=keys, allow_network=here) as hooks:
            shop = await hooks.application("shop")
            await hooks.add_endpoint(shop, receiver.url)
            async with hooks.dispatching() as dispatcher, asyncio.timeout(120):
                await hooks.send(shop, "a", {})
                while not gauges(dispatcher).delivered:  # noqa: ASYNC110  it tells nobody
                    await asyncio.sleep(0.01)
                receiver.go_down("refuse")
                for _ in range(20):
                    await hooks.send(shop, "a", {})
                while not gauges(dispatcher).lanes[Phase.OPEN]:  # noqa: ASYNC110  likewise
                    await asyncio.sleep(0.01)
                told = gauges(dispatcher)
    assert (told.delivered, told.shards) == (1, 64)
    assert told.sent >= 6
    assert told.failed == 0, "an outage costs nothing"
    assert told.waiting + told.in_flight == 20
    assert sum(told.lanes.values()) == 1

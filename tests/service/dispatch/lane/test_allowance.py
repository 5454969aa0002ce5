"""What a lane knows of itself, and how it takes up settings."""

import asyncio

from tarry.core.pace import Phase
from tarry.service.dispatch.lane.allowance import FIRST
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.settings import Limits
from tarry.service.wire.exchange import Answer
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    VirtualService,
    status,
    takes_all_but,
    virtual_service,
)


def lane_of(service: VirtualService, endpoint: Endpoint) -> Lane:
    held = service.dispatcher.shards.owned[service.application.shard]
    return held.lanes[endpoint.lane]


@virtually
async def test_an_endpoint_of_which_nothing_is_known_is_not_given_much_at_once() -> None:
    async with virtual_service() as service:
        hangs = Answer(15.0, status=200)
        await service.add_endpoint("a.example", lambda _request, _now: hangs)
        await service.add(1000)
        await asyncio.sleep(1)
        assert service.sender.in_air == FIRST


@virtually
async def test_one_that_takes_all_is_given_more_and_more() -> None:
    async with virtual_service() as service:
        slow = Answer(0.5, status=200)
        await service.add_endpoint("a.example", lambda _request, _now: slow)
        await service.add(5000)
        await asyncio.sleep(10)
        assert service.sender.most_in_air == Limits().lane_in_flight


@virtually
async def test_an_endpoint_that_was_enabled_again_is_given_what_waits_at_a_pace() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.add(500)
        await asyncio.sleep(5)
        await service.change(endpoint, standing=Standing.ENABLED)
        await asyncio.sleep(0.2)
        assert lane_of(service, endpoint).gate.phase is Phase.PACED
        assert len(service.sender.sent) < 20
        await service.until_delivered(endpoint, within=60)


@virtually
async def test_what_the_old_place_refused_is_not_ended_by_the_first_answer_of_a_new_one() -> None:
    async with virtual_service() as service:
        refused: list[str] = []
        script = takes_all_but(refused, status(404))
        endpoint = await service.add_endpoint("old.example", script)
        service.sender.scripts["new.example"] = script
        refused += await service.add()
        await asyncio.sleep(1)
        await service.add()  # which is taken
        await asyncio.sleep(1)
        await service.move(endpoint, "https://new.example/in")
        while service.sender.sent[-1].host == "old.example":  # noqa: ASYNC110  time is virtual
            await asyncio.sleep(1)
        await asyncio.sleep(1)
        ((_, delivery),) = await service.store.deliveries(refused[0])
        assert (delivery.state, delivery.tries) == (State.WAITING, 2)

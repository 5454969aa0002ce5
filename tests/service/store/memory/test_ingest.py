"""How the memory store accepts many messages."""

import asyncio
import time

from tarry.errors import BacklogFull
from tarry.service.model.lane import Stream, Want
from tarry.service.model.message import Accepted
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import NOON, new_message
from tarry.testing.store_contract.scene import Scene


def test_who_has_no_limit_of_their_own_has_that_of_the_store() -> None:
    async def answers() -> list[type]:
        scene = await Scene.set_up(MemoryStore(most_waiting=1))
        new = [new_message(scene.application) for _ in range(2)]
        return [type(answer) for answer in await scene.store.add(new)]

    assert asyncio.run(answers()) == [Accepted, BacklogFull]


def test_a_look_at_a_lane_costs_the_same_whatever_waits_in_it() -> None:
    async def looked(waiting: int) -> float:
        scene = await Scene.set_up(MemoryStore())
        await scene.store.add([new_message(scene.application) for _ in range(waiting)])
        want = Want(lane=scene.lane, stream=Stream.READY, limit=10, after=waiting // 2)
        best = float("inf")
        for _ in range(20):
            began = time.perf_counter()
            for _ in range(20):
                await scene.store.fetch([want], now=NOON, most_bytes=1_000_000)
            best = min(best, time.perf_counter() - began)
        return best

    few, many = asyncio.run(looked(100)), asyncio.run(looked(20_000))
    assert many < few * 10

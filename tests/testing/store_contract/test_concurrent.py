"""The topic `concurrent` notices stores that let calls overlap where they must not."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest

from tarry.service.model.lane import Lease
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.concurrent import ConcurrentContract

Try = Callable[..., None]


class TellsMany(MemoryStore):
    """Returns the woken lanes, but marks them as read only a moment later."""

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        woken = sorted(self._data.woken)
        await asyncio.sleep(0)
        await super().woken(leases)
        return woken


class RestsLate(MemoryStore):
    """Checks whether a lane may rest, and puts it to rest only a moment later."""

    async def rest(
        self, lanes: Mapping[int, int], leases: Iterable[Lease], *, doze: bool = False
    ) -> set[int]:
        resting = await super().rest(lanes, leases, doze=doze)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for lane in resting:
            self._data.lanes[lane].resting = True
        return resting


@pytest.mark.parametrize(
    ("wrong", "test"),
    [
        (TellsMany, "test_of_concurrent_readers_one_gets_a_wake_up"),
        (RestsLate, "test_no_lane_goes_to_rest_with_a_delivery"),
    ],
)
def test_a_store_that_looks_first_and_acts_later_is_noticed(
    try_on: Try, wrong: type[MemoryStore], test: str
) -> None:
    try_on(ConcurrentContract, test)
    with pytest.raises(AssertionError):
        try_on(ConcurrentContract, test, wrong)

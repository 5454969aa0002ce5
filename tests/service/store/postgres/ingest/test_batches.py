import asyncio
from collections.abc import Sequence

import pytest

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.store.postgres.ingest.batches import Batches

pytestmark = pytest.mark.anyio


class Work:
    """Doubles numbers once `go` is set; a 13 makes its whole batch fail."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = asyncio.Event()

    async def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        await self.go.wait()
        if 13 in items:
            raise StoreError("13 is refused")
        if 500 in items:
            raise StoreUnavailable("down")
        if 666 in items:
            raise KeyError("a fault of ours")
        return [2 * item for item in items]


async def test_while_a_batch_is_at_work_the_next_one_gathers() -> None:
    work = Work()
    batches = Batches(work, at_once=1)
    calls = [asyncio.create_task(batches([item])) for item in range(5)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    work.go.set()
    assert await asyncio.gather(*calls) == [[0], [2], [4], [6], [8]]
    assert sum(map(len, work.batches)) == 5
    assert len(work.batches) <= 2


async def test_no_more_batches_are_at_work_than_allowed_and_none_is_too_big() -> None:
    work = Work()
    batches = Batches(work, at_once=2, most=10)
    calls = [asyncio.create_task(batches(range(4))) for _ in range(20)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(work.batches) == 2
    work.go.set()
    await asyncio.gather(*calls)
    assert max(map(len, work.batches)) == 8  # a call's items stay together


async def test_the_one_to_blame_fails_alone() -> None:
    work = Work()
    batches = Batches(work, at_once=1)
    first = asyncio.create_task(batches([1]))
    await asyncio.sleep(0)
    calls = [asyncio.create_task(batches([item])) for item in (12, 13, 14)]
    await asyncio.sleep(0)
    work.go.set()
    results = await asyncio.gather(first, *calls, return_exceptions=True)
    assert results[:2] == [[2], [24]]
    assert isinstance(results[2], StoreError)
    assert results[3] == [28]


async def test_when_the_database_is_down_everybody_is_told_at_once() -> None:
    work = Work()
    work.go.set()
    batches = Batches(work, at_once=1)
    calls = [asyncio.create_task(batches([item])) for item in (500, 1, 2)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, StoreUnavailable) for result in results[:1])
    assert len(work.batches) <= 2


async def test_whoever_stops_waiting_takes_nothing_back_and_disturbs_nobody() -> None:
    work = Work()
    batches = Batches(work, at_once=1)
    impatient, patient = (asyncio.create_task(batches([item])) for item in (1, 2))
    await asyncio.sleep(0)
    impatient.cancel()
    work.go.set()
    assert await patient == [4]
    await batches.drain()
    assert sorted(item for batch in work.batches for item in batch) == [1, 2]


async def test_what_was_begun_is_done_when_it_is_drained() -> None:
    work = Work()
    batches = Batches(work)
    call = asyncio.create_task(batches([1]))
    await asyncio.sleep(0)
    work.go.set()
    await batches.drain()
    assert call.done() or await call == [2]
    assert await batches([]) == []


async def test_a_batch_that_fails_by_a_fault_of_ours_leaves_nobody_waiting() -> None:
    work = Work()
    batches = Batches(work, at_once=1, most=1)
    calls = [asyncio.create_task(batches([item])) for item in (666, 1, 2)]
    await asyncio.sleep(0)
    work.go.set()
    async with asyncio.timeout(120):
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(results[0], KeyError)
    assert results[1:] == [[2], [4]]


async def test_when_a_batch_is_cancelled_so_are_those_who_wait() -> None:
    work = Work()
    batches = Batches(work, at_once=1, most=1)
    before = asyncio.all_tasks()
    calls = [asyncio.create_task(batches([item])) for item in (1, 2, 3)]
    await asyncio.sleep(0)
    (batch,) = asyncio.all_tasks() - before - set(calls)
    await asyncio.sleep(0)
    batch.cancel()
    async with asyncio.timeout(120):
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)

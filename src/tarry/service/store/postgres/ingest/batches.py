"""Combine concurrent calls into batches: while one batch runs, the next one fills.

A commit waits for the disk, and costs the same for one message as for a thousand.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from tarry.errors import StoreError, StoreUnavailable

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batches(Generic[Item, Result]):
    """Calls `work` with the items of several callers, and gives each caller its results.

    At most `at_once` batches run, each with about `most` items: a caller's items stay together.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Awaitable[list[Result]]],
        *,
        at_once: int = 2,
        most: int = 1_000,
    ) -> None:
        self._work = work
        self._at_once = at_once
        self._most = most
        self._calls: deque[tuple[Sequence[Item], asyncio.Future[list[Result]]]] = deque()
        self._batches: set[asyncio.Task[None]] = set()

    async def __call__(self, items: Sequence[Item]) -> list[Result]:
        """Return one result for each item, in order. A cancelled caller's items are still done."""
        if not items:
            return []
        answer: asyncio.Future[list[Result]] = asyncio.get_running_loop().create_future()
        self._calls.append((items, answer))
        if len(self._batches) < self._at_once:
            batch = asyncio.create_task(self._run())
            self._batches.add(batch)
            batch.add_done_callback(self._batches.discard)
        return await answer

    async def drain(self) -> None:
        """Wait until all calls are done."""
        while self._batches:
            await asyncio.wait(self._batches)

    async def _run(self) -> None:
        """Do the waiting calls, in batches, until none is left."""
        while self._calls:
            calls = [self._calls.popleft()]
            item_count = len(calls[0][0])
            while self._calls and item_count + len(self._calls[0][0]) <= self._most:
                calls.append(self._calls.popleft())
                item_count += len(calls[-1][0])
            await self._do_batch(calls)

    async def _do_batch(
        self, calls: list[tuple[Sequence[Item], "asyncio.Future[list[Result]]"]]
    ) -> None:
        """Do the items of several calls at once, and pass each call its results or its error."""
        try:
            results = await self._work([item for items, _ in calls for item in items])
        except StoreError as error:
            if len(calls) == 1 or isinstance(error, StoreUnavailable):
                _fail_all(calls, error)
                return
            # One call caused the error: run them one by one, so that only that one fails.
            for call in calls:
                await self._do_batch([call])
        except Exception as error:  # noqa: BLE001  it goes to the callers; other batches go on
            _fail_all(calls, error)
        except BaseException as error:
            _fail_all([*calls, *self._calls], error)
            self._calls.clear()
            raise
        else:
            start = 0
            for items, answer in calls:
                if not answer.done():
                    answer.set_result(results[start : start + len(items)])
                start += len(items)


def _fail_all(
    calls: Sequence[tuple[object, "asyncio.Future[list[Result]]"]], error: BaseException
) -> None:
    """Pass an error to all these calls."""
    for _, answer in calls:
        if not answer.done():
            if isinstance(error, Exception):
                answer.set_exception(error)
            else:
                answer.cancel()

"""What is kept in memory: for a wrapped function, and for a call that waits to try again."""

import asyncio
import gc
import tracemalloc
from asyncio import AbstractEventLoop
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType

from contest.contestants import Contestant
from contest.work import LONG_WAIT, USUAL, Function, afail, succeed

FUNCTIONS = 200
TASKS = 1_000
WARM_UP = 20
STEPS = 20
"""Turns of the event loop, after which every task is in its first wait."""


def bytes_per_function(contestant: Contestant, function: Function = succeed) -> float:
    """Memory for each function that is wrapped."""
    inner = [
        FunctionType(function.__code__, globals(), function.__name__) for _ in range(FUNCTIONS)
    ]
    contestant.make(USUAL)(function)  # what is made once for all is made now
    with _weighing():
        before = _traced()
        wrapped = [contestant.make(USUAL)(each) for each in inner]
        return (_traced() - before) / len(wrapped)


def bytes_per_wait(contestant: Contestant, loop: AbstractEventLoop) -> float:
    """Memory for each task that waits for its second attempt."""
    function = contestant.make(LONG_WAIT)(afail)
    with _weighing():
        loop.run_until_complete(_waiting(function, WARM_UP))
        return loop.run_until_complete(_waiting(function, TASKS)) / TASKS


async def _waiting(function: Function, tasks: int) -> float:
    before = _traced()
    waiting = [asyncio.create_task(function(1)) for _ in range(tasks)]
    for _ in range(STEPS):
        await asyncio.sleep(0)
    grown = _traced() - before
    for task in waiting:
        task.cancel()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    if any(not isinstance(outcome, asyncio.CancelledError) for outcome in outcomes):
        raise RuntimeError("a task did not wait")
    return grown


@contextmanager
def _weighing() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]

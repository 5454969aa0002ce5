"""Time many cases fairly: short samples, every case in turn, round after round, the least counts.

A busy machine can only make a sample longer, so the least of many is the closest to the truth; and
since all cases are visited in every round, a change of pace in the machine meets all of them.
"""

import asyncio
import gc
import os
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context
from dataclasses import dataclass
from importlib import import_module
from itertools import repeat
from time import perf_counter_ns
from unittest.mock import patch

from contest.work import Function

SAMPLE_NS = 1_500_000
RUN_UP = 5
TRIAL_CALLS = 5

Timer = Callable[[int], int]
"""Makes so many calls and gives the nanoseconds they took."""
Place = tuple[str, str, str]
"""Table, row and column."""
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Case:
    """One figure to find: where it goes, how it is timed, and how many attempts a call makes."""

    place: Place
    timer: Timer
    attempts: int = 1
    around: Callable[[], AbstractContextManager[None]] = nullcontext

    def sample(self, calls: int) -> float:
        """Nanoseconds per attempt, over so many calls.

        Each sample has an empty context of its own, because some libraries leave variables behind,
        and a run-up, because the case before it has left the processor's caches to itself.
        """
        context = Context()
        with self.around():
            context.run(self.timer, calls // RUN_UP)
            return context.run(self.timer, calls) / calls / self.attempts


def pin() -> int | None:
    """Stay on one core; which, or None where the system cannot."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def least(cases: Sequence[Case], rounds: int, progress: Progress) -> dict[Place, float]:
    """The least time each case ever took, in nanoseconds."""
    with _no_collector():
        plan = [(case, _calls(case)) for case in cases]
        best = {case.place: float("inf") for case in cases}
        for number in range(1, rounds + 1):
            progress(f"timing {len(cases)} cases, round {number} of {rounds}")
            for case, calls in plan:
                best[case.place] = min(best[case.place], case.sample(calls))
            gc.collect()
    return best


def _calls(case: Case) -> int:
    """How many calls fill a sample."""
    case.sample(TRIAL_CALLS)
    taken = case.sample(TRIAL_CALLS) * case.attempts
    taken = min(taken, case.sample(max(1, int(SAMPLE_NS / taken))) * case.attempts)
    return max(1, int(SAMPLE_NS / taken))


@contextmanager
def _no_collector() -> Iterator[None]:
    """Collect garbage between the samples, never inside one."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


# --- Timers: one for each kind of call, and for each way it can end ---------------------------


def calls(function: Function) -> Timer:
    """Calls that succeed."""

    def timer(times: int) -> int:
        started = perf_counter_ns()
        for _ in repeat(None, times):
            function(1)
        return perf_counter_ns() - started

    return timer


def failing_calls(function: Function) -> Timer:
    """Calls that raise."""

    def timer(times: int) -> int:
        started = perf_counter_ns()
        for _ in repeat(None, times):
            try:  # noqa: SIM105  suppress() would be timed too
                function(1)
            except Exception:  # noqa: BLE001, S110  each library raises its own
                pass
        return perf_counter_ns() - started

    return timer


def awaits(function: Function, loop: AbstractEventLoop) -> Timer:
    """Awaited calls that succeed; the event loop's own work is not in the time."""

    async def run(times: int) -> int:
        started = perf_counter_ns()
        for _ in repeat(None, times):
            await function(1)
        return perf_counter_ns() - started

    return lambda times: loop.run_until_complete(run(times))


def failing_awaits(function: Function, loop: AbstractEventLoop) -> Timer:
    """Awaited calls that raise."""

    async def run(times: int) -> int:
        started = perf_counter_ns()
        for _ in repeat(None, times):
            try:  # noqa: SIM105  suppress() would be timed too
                await function(1)
            except Exception:  # noqa: BLE001, S110  each library raises its own
                pass
        return perf_counter_ns() - started

    return lambda times: loop.run_until_complete(run(times))


@contextmanager
def sleepless() -> Iterator[None]:
    """Take the sleeping out of a wait, so that a library's own cost remains."""
    world = import_module("tarry.call.world").world  # has taken hold of time.sleep
    with (
        patch.object(time, "sleep", _no_sleep),
        patch.object(asyncio, "sleep", _no_asleep),
        patch.object(world, "sleep", _no_sleep),
    ):
        yield


def _no_sleep(_: float) -> None:
    """Return at once."""


async def _no_asleep(_: float) -> None:
    """Return at once."""

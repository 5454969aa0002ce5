"""One thing to time, and the least time it took."""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from contest.stopwatch import Progress


@dataclass(frozen=True)
class Case:
    """A piece of work that takes a while; it tells how much it came to: clients, events, points."""

    table: str
    row: str
    work: Callable[[], int]


@dataclass(frozen=True)
class Found:
    """The least that a case took, in seconds, and how much it came to."""

    case: Case
    seconds: float
    amount: int

    @property
    def each_ns(self) -> float:
        """Nanoseconds for one of them."""
        return self.seconds / max(self.amount, 1) * 1e9


def race(cases: Sequence[Case], rounds: int, progress: Progress) -> list[Found]:
    """Time every case in every round. The collector is on, as it is for users."""
    best = [Found(case, float("inf"), 0) for case in cases]
    for number in range(1, rounds + 1):
        for place, case in enumerate(cases):
            progress(f"round {number} of {rounds}: {case.table}: {case.row}")
            gc.collect()
            started = perf_counter()
            amount = case.work()
            seconds = perf_counter() - started
            best[place] = Found(case, min(seconds, best[place].seconds), amount)
    return best

"""Estimate a number from several runs: its mean, and a confidence interval."""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean, stdev
from typing import NamedTuple

CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """The mean over runs with its 95 % confidence interval; `missing` runs gave no number.

    If runs are missing, there is no mean: leaving out the runs that never recovered would make a
    bad policy look good. A single run gives no interval.
    """

    mean: float | None
    low: float | None
    high: float | None
    runs: int
    missing: int = 0


def estimate(values: Sequence[float | None]) -> Estimate:
    """Summarize one number over all runs.

    >>> estimate([2.0, 4.0, None])
    Estimate(mean=None, low=None, high=None, runs=3, missing=1)
    """
    known = [value for value in values if value is not None]
    missing = len(values) - len(known)
    if missing or not known:
        return Estimate(None, None, None, len(values), missing)
    mean = fmean(known)
    if len(known) == 1:
        return Estimate(mean, None, None, 1)
    half = student(len(known) - 1) * stdev(known) / math.sqrt(len(known))
    return Estimate(mean, mean - half, mean + half, len(known))


@lru_cache
def student(freedom: int) -> float:
    """Return the half-width of a 95 % interval in standard errors, by Student's t distribution.

    >>> round(student(19), 3)
    2.093
    """
    low, high = 0.0, math.pi / 2
    while low < (angle := (low + high) / 2) < high:
        low, high = (
            (angle, high) if _probability_within(angle, freedom) < CONFIDENCE else (low, angle)
        )
    return math.tan(angle) * math.sqrt(freedom)


def _probability_within(angle: float, freedom: int) -> float:
    """Return the probability that |t| is at most tan(angle) · √freedom, as a finite sum.

    The sum runs over the even powers of the cosine for an even freedom, over the odd ones otherwise
    (Abramowitz and Stegun 26.7.3 and 26.7.4).
    """
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for step in range(1 + odd, freedom, 2):
        total += term
        term *= math.cos(angle) ** 2 * step / (step + 1)
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total

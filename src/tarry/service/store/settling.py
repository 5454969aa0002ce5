"""Helpers of stores that settle many deliveries in one statement."""

from collections import Counter
from collections.abc import Iterable

from tarry.service.model.attempt import Resent, Settlement

Placed = tuple[int, Settlement]
"""A settlement and its index among all settlements of the call."""


def in_rounds(told: Iterable[tuple[int, Settlement | Resent]]) -> list[list[Placed]]:
    """Return the settlements in rounds, so that no delivery occurs twice in a round.

    Each round is one statement: a second settlement is checked against the result of the first.
    """
    rounds: list[list[Placed]] = []
    times = Counter[tuple[int, int]]()
    for place, one in told:
        if isinstance(one, Resent):
            continue
        nth = times[one.lane, one.seq]
        times[one.lane, one.seq] += 1
        if nth == len(rounds):
            rounds.append([])
        rounds[nth].append((place, one))
    return rounds

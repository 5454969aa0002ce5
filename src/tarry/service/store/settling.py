"""What stores share that settle many deliveries by one statement."""

from collections import Counter
from collections.abc import Iterable

from tarry.service.model.attempt import Resent, Settlement

Placed = tuple[int, Settlement]
"""A settlement, and which one it is of all that were told together."""


def in_rounds(told: Iterable[tuple[int, Settlement | Resent]]) -> list[list[Placed]]:
    """The settlements among them, so that no delivery comes twice in one round.

    Each round is a statement of its own: the fence of the second time is what the first one left.
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

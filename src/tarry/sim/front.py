"""The front: what cannot be had better in one respect without being worse in another."""

from collections.abc import Sequence
from typing import TypeVar

Found = TypeVar("Found")
Prices = tuple[float, ...]


def dominates(one: Prices, other: Prices) -> bool:
    """Whether one is nowhere dearer than the other, and somewhere cheaper.

    >>> dominates((1, 2), (1, 3)), dominates((1, 2), (2, 1))
    (True, False)
    """
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def front(found: Sequence[tuple[Found, Prices]]) -> list[Found]:
    """Those that no other dominates, the cheapest in the first respect first."""
    kept = [
        (prices, place)
        for place, (_, prices) in enumerate(found)
        if not any(dominates(other, prices) for _, other in found)
    ]
    return [found[place][0] for _, place in sorted(kept)]

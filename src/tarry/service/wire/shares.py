"""A number of places that owners share: no owner may hold more places than are free.

One owner alone may have half of the places, two a third each, and a new owner finds some left.
"""


class Shares:
    """Counts the places that each owner holds."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._held: dict[str, int] = {}

    @property
    def free(self) -> int:
        """How many places are free."""
        return self._free

    def held(self, owner: str) -> int:
        """Return how many places an owner holds."""
        return self._held.get(owner, 0)

    def allows(self, owner: str, besides: int = 0) -> bool:
        """Return whether an owner may take a place; `besides` counts as places held here."""
        return self.held(owner) + besides < self._free

    def take(self, owner: str) -> None:
        """Give an owner a place; `allows` must have been checked before."""
        self._free -= 1
        self._held[owner] = self.held(owner) + 1

    def give_back(self, owner: str) -> None:
        """Take a place back from an owner."""
        self._free += 1
        left = self._held[owner] - 1
        if left:
            self._held[owner] = left
        else:
            del self._held[owner]

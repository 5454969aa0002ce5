"""A number of places, shared out between owners: nobody may hold more places than are free.

One owner alone may have half of the places, two a third each, and a newcomer finds some left.
"""


class Shares:
    """Counts the places that each owner holds."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._held: dict[str, int] = {}

    @property
    def free(self) -> int:
        """How many places nobody holds."""
        return self._free

    def held(self, owner: str) -> int:
        """How many places an owner holds."""
        return self._held.get(owner, 0)

    def allows(self, owner: str, besides: int = 0) -> bool:
        """Whether an owner may take a place; `besides` places elsewhere count as held here."""
        return self.held(owner) + besides < self._free

    def take(self, owner: str) -> None:
        """Give an owner a place, which it may have."""
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

"""A fair share of a number of places for each owner: no owner holds more places than are free.

One owner alone may have half of the places, two a third each, and a new owner finds some left. The
owners are applications; a place is a request in flight, an outcome to write, or a thread.
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
        """Give an owner a place, whether `allows` says that it may have one or not."""
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

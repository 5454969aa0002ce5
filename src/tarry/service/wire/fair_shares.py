"""Fair shares for owners: of a number of places, and of the turns in a queue.

`Shares` lets no owner hold more places than are free: one owner alone may have half of the places,
two a third each, and a new owner finds some left. In a `FairQueue`, owners take turns, however many
names each has waiting.
"""

from collections.abc import Callable


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


class _Waiting:
    """The names of one owner, in the order in which they came."""

    __slots__ = ("quick", "slow")

    def __init__(self) -> None:
        self.quick: dict[str, None] = {}
        self.slow: dict[str, None] = {}


class FairQueue:
    """A queue of names for each owner. A name that is slow waits behind the owner's other names.

    Two owners may wait for the same name: each has it in its own queue.
    """

    def __init__(self) -> None:
        self._owners: dict[str, _Waiting] = {}

    def add(self, owner: str, name: str, *, slow: bool) -> None:
        """Put a name at the end of an owner's queue."""
        waiting = self._owners.get(owner)
        if waiting is None:
            waiting = self._owners[owner] = _Waiting()
        (waiting.slow if slow else waiting.quick)[name] = None

    def take(self, may_run: Callable[[str, bool], bool]) -> tuple[str, str] | None:
        """Take out the next owner's first name that may run, and return both.

        `may_run` gets an owner and whether the name is slow. An owner goes to the end of the round
        when it is served, and also when it is skipped.
        """
        for _ in range(len(self._owners)):
            owner = next(iter(self._owners))
            waiting = self._owners[owner] = self._owners.pop(owner)
            for names, slow in ((waiting.quick, False), (waiting.slow, True)):
                if names and may_run(owner, slow):
                    name = next(iter(names))
                    self.discard(owner, name)
                    return owner, name
        return None

    def discard(self, owner: str, name: str) -> None:
        """Take a name out of an owner's queue, if it is there."""
        waiting = self._owners.get(owner)
        if waiting is None:
            return
        waiting.quick.pop(name, None)
        waiting.slow.pop(name, None)
        if not waiting.quick and not waiting.slow:
            del self._owners[owner]

    def clear(self) -> None:
        """Take all names out."""
        self._owners.clear()

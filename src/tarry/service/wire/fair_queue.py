"""A queue of names in which owners take turns, however many names each has waiting."""

from collections.abc import Callable


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

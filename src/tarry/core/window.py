"""Counts over a stretch of time that slides: a frozen ring of slices.

A slice is a short span of time with its counts. Which slice is now, the caller says (`slot`).
"""

from tarry.core import checks
from tarry.core.value import Value, settle
from tarry.errors import PolicyError

SHORTEST = 0.001
"""The shortest window in seconds: its slices are as short as a clock can tell apart."""

SLICES = 20
"""How many slices make a window: the finer, the closer the count follows the time."""

Counts = tuple[int, ...]


class Window(Value):
    """The newest `SLICES` slices and one more, newest last. `newest` is the last one's number."""

    newest: int
    slices: tuple[Counts, ...]

    def __init__(self, newest: int = 0, slices: tuple[Counts, ...] = ()) -> None:
        settle(self, "newest", newest)
        settle(self, "slices", slices)

    def add(self, slot: int, counts: Counts) -> "Window":
        """The window with these counts added to the slice `slot` (a late one joins the newest)."""
        moved = self._moved(slot, len(counts))
        last = tuple(old + new for old, new in zip(moved.slices[-1], counts, strict=True))
        return Window(moved.newest, (*moved.slices[:-1], last))

    def sums(self, slot: int, slices: int, columns: int) -> Counts:
        """Each count summed over the `slices` slices that end with `slot`."""
        since = max(0, slot - self.newest)  # slices in which nothing was counted
        kept = self.slices[since - slices :] if since < slices else ()
        return tuple([sum(column) for column in zip(*kept, strict=True)]) or (0,) * columns

    def _moved(self, slot: int, columns: int) -> "Window":
        """The window with `slot` as its newest slice, what is too old dropped."""
        ahead = slot - self.newest
        if self.slices and ahead <= 0:
            return self
        fresh = ((0,) * columns,) * min(max(ahead, 1), SLICES + 1)
        return Window(slot, (*self.slices, *fresh)[-(SLICES + 1) :])


def span(field: str, value: checks.Seconds) -> float:
    """How long a window is, in seconds."""
    wanted = f"a number of seconds from {SHORTEST:g} to {checks.LONGEST:,.0f}"
    found = checks.seconds(field, value, wanted)
    if found < SHORTEST:
        raise PolicyError(field, value, wanted)
    return found


def slot_of(now: float, window: float) -> int:
    """The number of the slice that `now` falls in."""
    return int(now * SLICES / window)


def slot_end(slot: int, window: float) -> float:
    """When a slice is over."""
    return (slot + 1) * window / SLICES

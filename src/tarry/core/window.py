"""Counts over a sliding window of time: a frozen ring of slices.

A slice is a short span of time with its counts. The caller passes the number of the current slice
(`slot`).
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
        """Return the window with these counts added to `slot` (a late one joins the newest)."""
        moved = self._with_newest(slot, len(counts))
        last = tuple(old + new for old, new in zip(moved.slices[-1], counts, strict=True))
        return Window(moved.newest, (*moved.slices[:-1], last))

    def sums(self, slot: int, slices: int, columns: int) -> Counts:
        """Return each count summed over the `slices` slices that end with `slot`."""
        since = max(0, slot - self.newest)  # slices in which nothing was counted
        summed = self.slices[since - slices :] if since < slices else ()
        return tuple([sum(column) for column in zip(*summed, strict=True)]) or (0,) * columns

    def _with_newest(self, slot: int, columns: int) -> "Window":
        """Return the window with `slot` as its newest slice, without older slices."""
        ahead = slot - self.newest
        if self.slices and ahead <= 0:
            return self
        fresh = ((0,) * columns,) * min(max(ahead, 1), SLICES + 1)
        return Window(slot, (*self.slices, *fresh)[-(SLICES + 1) :])


def span(field: str, value: checks.Seconds) -> float:
    """Return the length of a window in seconds; raise if it is out of range."""
    wanted = f"a number of seconds from {SHORTEST:g} to {checks.LONGEST_DURATION:,.0f}"
    length = checks.seconds(field, value, wanted)
    if length < SHORTEST:
        raise PolicyError(field, value, wanted)
    return length


def slot_of(now: float, window: float) -> int:
    """Return the number of the slice that `now` falls in."""
    return int(now * SLICES / window)


def slot_end(slot: int, window: float) -> float:
    """Return when a slice is over."""
    return (slot + 1) * window / SLICES

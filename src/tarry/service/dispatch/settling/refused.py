"""Settlements and changes that the store refuses: which one is at fault, and what is kept of it.

Nothing here writes: the caller hands a part to the store, and asks for smaller or simpler ones when
the store refuses it.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tarry.service.dispatch.lane.lane import Lane
from tarry.service.model.attempt import Attempt, Resent, Settlement
from tarry.service.model.lane import Change, Due

Finished = tuple[Lane, Due, Settlement | Resent]
"""An attempt that ended: its lane, its delivery, and what is to be written."""
NOT_KEPT = "the response is not kept: the database refused it"
"""What stands in an attempt's detail instead of the text that could not be written."""


class Part(Struct, frozen=True):
    """What is written in one commit: attempts that ended, and changes of lanes."""

    finished: tuple[Finished, ...]
    changes: tuple[Change, ...] = ()

    @property
    def settlements(self) -> list[Settlement | Resent]:
        """The settlements among them."""
        return [settlement for _, _, settlement in self.finished]

    def halves(self) -> "tuple[Part, ...]":
        """Return two smaller parts; none if it has one settlement or one change only."""
        many = len(self.finished)
        middle = (many + len(self.changes)) // 2
        if not middle:
            return ()
        cut = max(0, middle - many)
        return (
            Part(self.finished[:middle], self.changes[:cut]),
            Part(self.finished[middle:], self.changes[cut:]),
        )

    def simpler(self) -> "Iterator[Part]":
        """Return what to try instead of a part of one that was refused, the fullest form first."""
        for lane, due, settlement in self.finished:
            for form in _forms(settlement):
                yield Part(((lane, due, form),))
        for change in self.changes:
            if change.notices:
                yield Part((), (replace(change, notices=()),))

    def __str__(self) -> str:
        """Name what it is about."""
        settled = [
            f"delivery {one.seq} of lane {one.lane} ({one.message})" for _, one, _ in self.finished
        ]
        return ", ".join(settled + [f"change of lane {one.lane}" for one in self.changes])


def _forms(settlement: Settlement | Resent) -> Iterator[Settlement | Resent]:
    """The same outcome with less and less of the attempt."""
    if settlement.attempt is None:
        return
    yield replace(settlement, attempt=_bare(settlement.attempt))
    if isinstance(settlement, Settlement):
        yield replace(settlement, attempt=None)


def _bare(attempt: Attempt) -> Attempt:
    """An attempt without the texts that others or we have written."""
    return replace(attempt, detail=NOT_KEPT, body=b"", decision="")

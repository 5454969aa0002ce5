"""A service with nothing to deliver rests, no process crashes, and no watchdog finds anything."""

from collections.abc import Iterator

from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.checker.liveness import PATIENCE, REFUSED_AGAIN_AFTER
from tests.simulation.log import Crashed, Rested, Stalled

LAST_FEW = 6
"""How many calls there may be that no setting explains."""


def rest(facts: Facts) -> Iterator[Violation]:
    """Check how many calls reached the store at rest."""
    for entry in facts.all(Rested):
        if _writes_again(facts, entry):
            continue
        many = {
            name: count
            for name, count in entry.calls.items()
            if count > entry.most.get(name, LAST_FEW)
        }
        if many:
            text = (
                f"with nothing to do, the store was called too often in {entry.seconds:g} s: {many}"
            )
            yield Violation(entry.at, "no rest", text)


def _writes_again(facts: Facts, entry: Rested) -> bool:
    """Return whether outcomes that the store refused may be written meanwhile, a minute later."""
    return any(
        fault.at + REFUSED_AGAIN_AFTER < entry.at
        and fault.until + REFUSED_AGAIN_AFTER + PATIENCE > entry.at - entry.seconds
        for fault in facts.faults
        if fault.message is not None
    )


def crashes(facts: Facts) -> Iterator[Violation]:
    """Report exceptions that nothing caught."""
    for entry in facts.all(Crashed):
        yield Violation(entry.at, "crashed", f"{entry.process}: {entry.error}")


def stalls(facts: Facts) -> Iterator[Violation]:
    """Report lanes that a watchdog had to wake."""
    for entry in facts.all(Stalled):
        text = f"{entry.worker} had {entry.lanes} lanes that nobody else would have woken"
        yield Violation(entry.at, "woken by the watchdog", text)

"""A service with nothing to deliver goes to rest; and no process falls over."""

from collections.abc import Iterator

from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.log import Crashed, Rested

BUSY = frozenset({"fetch", "settle", "rest", "doze"})
"""Calls that a service at rest does not make at all, but for the last few."""
LAST_FEW = 4


def rest(facts: Facts) -> Iterator[Violation]:
    """Check how many calls reached the store at rest."""
    for entry in facts.entries:
        if not isinstance(entry, Rested):
            continue
        total = sum(entry.calls.values())
        busy = sum(count for name, count in entry.calls.items() if name in BUSY)
        if total > entry.most or busy > LAST_FEW:
            text = f"{total} calls in {entry.seconds:g} s with nothing to do: {entry.calls}"
            yield Violation(entry.at, "no rest", text)


def crashes(facts: Facts) -> Iterator[Violation]:
    """Report exceptions that nothing caught."""
    for entry in facts.entries:
        if isinstance(entry, Crashed):
            yield Violation(entry.at, "crashed", f"{entry.process}: {entry.error}")

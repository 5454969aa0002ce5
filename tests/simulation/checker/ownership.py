"""A settlement counts only under the lease under which its request was made."""

from collections import defaultdict
from collections.abc import Iterator

from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.log import Leased, Requested, Settled


def ownership(facts: Facts) -> Iterator[Violation]:
    """Check every settlement against the leases that its worker was given."""
    leases: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    begun: dict[tuple[str, str, str, int], int] = {}
    for place, entry in enumerate(facts.entries):
        match entry:
            case Leased():
                leases[entry.worker, entry.shard].append((place, entry.epoch))
            case Requested():
                begun[entry.worker, entry.message, entry.endpoint, entry.number] = place
            case Settled():
                name = entry.worker, entry.message, entry.endpoint, entry.number
                epoch = _epoch_at(leases[entry.worker, entry.shard], begun.get(name, -1))
                if epoch is not None and epoch != entry.epoch:
                    text = (
                        f"{entry.message} to {entry.endpoint}: attempt {entry.number} was made by"
                        f" {entry.worker} in epoch {epoch} and settled in epoch {entry.epoch}"
                    )
                    yield Violation(entry.at, "settled under another lease", text)
            case _:
                pass


def _epoch_at(leases: list[tuple[int, int]], place: int) -> int | None:
    """Return the epoch of the last of these leases that was given before a place in the log."""
    return next((epoch for given, epoch in reversed(leases) if given < place), None)

"""A settlement counts only under the lease under which its request was made."""

from collections.abc import Iterator

from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.log import Leased, Requested, Settled


def ownership(facts: Facts) -> Iterator[Violation]:
    """Check every settlement against the leases that its worker was given."""
    held: dict[tuple[str, int], int] = {}
    begun: dict[tuple[str, str, str, int], dict[int, int]] = {}
    for entry in facts.entries:
        match entry:
            case Leased():
                held[entry.worker, entry.shard] = entry.epoch
            case Requested():
                name = entry.worker, entry.message, entry.endpoint, entry.number
                epochs = {
                    shard: epoch
                    for (worker, shard), epoch in held.items()
                    if worker == entry.worker
                }
                begun[name] = epochs
            case Settled():
                name = entry.worker, entry.message, entry.endpoint, entry.number
                epoch = begun.get(name, {}).get(entry.shard)
                if epoch is not None and epoch != entry.epoch:
                    text = (
                        f"{entry.message} to {entry.endpoint}: attempt {entry.number} was made by"
                        f" {entry.worker} in epoch {epoch} and settled in epoch {entry.epoch}"
                    )
                    yield Violation(entry.at, "settled under another lease", text)
            case _:
                pass

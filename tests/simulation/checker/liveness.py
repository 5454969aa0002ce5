"""A delivery with no reason to wait is sent within seconds, and promised times are kept."""

from collections.abc import Iterator

from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.checker.policies import longest_timeout
from tests.simulation.log import Fault, Waiting

PATIENCE = 2.0
"""How many seconds a delivery may wait for no reason."""
AFTER_A_FAULT = 5.0
"""The same, once a fault is over."""
REFUSED_AGAIN_AFTER = 60.0
"""Seconds after which a refused settlement is tried again."""
BUDGET, BUDGET_WINDOW = 20, 10.0
"""The budget of an endpoint: this many retries in this many seconds."""


def liveness(facts: Facts) -> Iterator[Violation]:
    """Check every endpoint that was seen with deliveries to send and no request in flight."""
    reported: set[tuple[str, float]] = set()
    promised: dict[tuple[str, float], float] = {}
    for entry in facts.all(Waiting):
        pause = entry.endpoint, entry.since
        promised[pause] = max(promised.get(pause, 0.0), entry.next_at or 0.0)
        if pause not in reported and entry.at > _deadline(facts, entry, promised[pause]):
            reported.add(pause)
            promise = "" if entry.next_at is None else f", next at {entry.next_at:.3f}"
            text = (
                f"{entry.eligible} deliveries to {entry.endpoint} could go, nothing has happened"
                f" since {entry.since:.3f}, and the reason given is {entry.reason!r}{promise}"
            )
            yield Violation(entry.at, "stalled", text)


def _deadline(facts: Facts, entry: Waiting, promised: float) -> float:
    """Return until when the endpoint may wait without a request."""
    # A worker uses the database's clock as it was when the worker started, without later steps.
    stepped = sum(abs(fault.seconds) for fault in facts.faults if fault.at <= entry.at)
    asked = facts.asked_between(0, entry.at, endpoint=entry.endpoint)
    probed_at = (one.at for one in asked if one.wish == "probe")
    # What held it at its old address ended when the endpoint was changed.
    changed_at = (one.at for one in facts.changes[entry.endpoint] if one.at <= entry.at)
    begins = max(entry.since, promised, *probed_at, *changed_at) + stepped
    deadline = begins + PATIENCE + entry.gap + _budget(facts, entry)
    # An ordered endpoint's new owner waits for a request that the last one may have left behind.
    behind = longest_timeout(facts, entry.endpoint) if entry.fifo else 0.0
    for fault in facts.faults:
        if fault.at <= entry.at and fault.message is None:  # one message's holds up no others
            deadline = max(deadline, fault.until + AFTER_A_FAULT + entry.gap + behind)
        elif fault.at <= entry.at and entry.fifo and _was_sent(facts, entry, fault):
            deadline = max(deadline, fault.until + REFUSED_AGAIN_AFTER + PATIENCE + entry.gap)
    return deadline


def _was_sent(facts: Facts, entry: Waiting, fault: Fault) -> bool:
    """Return whether the message of a fault was sent there: all later ones wait for its outcome."""
    requests = facts.at_endpoint[entry.endpoint]
    return any(request.message == fault.message for request in requests)


def _budget(facts: Facts, entry: Waiting) -> float:
    """Return how long an endpoint waits whose retries have used up their budget."""
    spent = retries_before(facts, entry.endpoint, entry.at) >= BUDGET
    return BUDGET_WINDOW if spent else 0.0


def retries_before(facts: Facts, endpoint: str, at: float) -> int:
    """Return how many retries an endpoint got that its budget may still count.

    A delivery whose outcome could not be written goes again with the same number.
    """
    sent: set[str] = set()
    retries = 0
    for request in facts.at_endpoint[endpoint]:
        is_retry = request.number > 1 or request.message in sent
        retries += is_retry and at - 2 * BUDGET_WINDOW <= request.at <= at
        sent.add(request.message)
    return retries

"""People's requests are carried out: resends are sent, and tasks are finished."""

from collections.abc import Iterator

from tarry.service.model.endpoint import Standing
from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.checker.liveness import REFUSED_AGAIN_AFTER

PATIENCE = 20.0
"""How many seconds before the end of a history a request must have been made, and faults must be
over, for it to be checked. Without a fault, no task takes longer than that."""
CLOCKS_DIFFER = 5.0
"""Seconds by which the clock of the API and that of the store may differ."""


def wishes(facts: Facts) -> Iterator[Violation]:
    """Check that every request was carried out by the end."""
    for asked in facts.asked:
        if asked.wish != "resend" or asked.endpoint is None or asked.message is None:
            continue
        changes = facts.changes[asked.endpoint]
        is_stopped = any(change.endpoint.standing is not Standing.ENABLED for change in changes)
        since = max(asked.at, _faults_over(facts, asked.endpoint))
        if is_stopped or facts.was_lost(asked.at) or since > facts.ending.at - PATIENCE:
            continue
        requests = facts.requests[asked.message, asked.endpoint]
        if not any(request.at >= asked.at for request in requests):
            text = f"the resend of {asked.message} to {asked.endpoint} was never made"
            yield Violation(asked.at, "wish not granted", text)
    for task in facts.ending.tasks:
        if task.finished_at is None:
            text = f"the task {task.work} of {task.endpoint} is not finished"
            yield Violation(facts.ending.at, "wish not granted", text)
        elif not facts.faults and task.finished_at - task.created_at > PATIENCE + CLOCKS_DIFFER:
            took = task.finished_at - task.created_at
            text = f"the task {task.work} of {task.endpoint} took {took:.3f} s"
            yield Violation(facts.ending.at, "wish not granted", text)


def _faults_over(facts: Facts, endpoint: str) -> float:
    """Return when no fault keeps an endpoint from getting a resend any more.

    At an ordered endpoint, it waits until the outcome of the delivery before it is written.
    """
    is_ordered = any(change.endpoint.fifo for change in facts.changes[endpoint])
    return max(
        (
            fault.until + (REFUSED_AGAIN_AFTER if is_ordered and fault.message else 0.0)
            for fault in facts.faults
        ),
        default=0.0,
    )

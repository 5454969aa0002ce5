"""People's requests are carried out: resends are sent, and tasks are finished."""

from collections.abc import Iterator

from tarry.service.model.endpoint import Standing
from tests.simulation.checker.facts import Facts, Violation

PATIENCE = 20.0
"""How many seconds before the end of a history a request must have been made, and faults must be
over, for it to be checked. Without a fault, no task takes longer than that."""
CLOCKS_DIFFER = 5.0
"""Seconds by which the clock of the API and that of the store may differ."""


def wishes(facts: Facts) -> Iterator[Violation]:
    """Check that every request was carried out by the end."""
    faults_over = max((fault.until for fault in facts.faults), default=0.0)
    for asked in facts.asked:
        if asked.wish != "resend" or asked.endpoint is None or asked.message is None:
            continue
        changes = facts.changes[asked.endpoint]
        is_stopped = any(change.endpoint.standing is not Standing.ENABLED for change in changes)
        since = max(asked.at, faults_over)
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

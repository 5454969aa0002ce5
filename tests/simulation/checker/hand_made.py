"""Logs written by hand, for the tests of the rules: a short true story, and entries to spoil it."""

from typing import Any

from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.task import Task
from tests.simulation.checker.check import violations
from tests.simulation.checker.facts import Violation
from tests.simulation.log import (
    Accepted,
    Answered,
    Ending,
    EndpointChanged,
    Entry,
    Leased,
    Requested,
    Settled,
)

ONE, TWO = "msg_one", "msg_two"
HERE = "ep_here"
HOST = "here.example"
END = 100.0


def endpoint(**values: Any) -> Endpoint:  # noqa: ANN401  its fields
    """Return the endpoint of the story."""
    usual = {
        "id": HERE,
        "application": "app_one",
        "lane": 1,
        "url": f"https://{HOST}/0",
        "created_at": 0.0,
        "updated_at": 0.0,
    }
    return Endpoint(**{**usual, **values})


def added(at: float = 0.0, **values: Any) -> EndpointChanged:  # noqa: ANN401  likewise
    """The endpoint was added, or changed."""
    return EndpointChanged(at, endpoint(**values))


def accepted(at: float, message: str = ONE, **values: Any) -> Accepted:  # noqa: ANN401  likewise
    """A message was accepted for the endpoint."""
    usual = {"application": "app_one", "endpoints": (HERE,)}
    return Accepted(at=at, message=message, **{**usual, **values})


def requested(at: float, request: int, message: str = ONE, **values: Any) -> Requested:  # noqa: ANN401  likewise
    """A request was begun."""
    usual = {"worker": "worker 0", "endpoint": HERE, "host": HOST, "number": 1}
    return Requested(at=at, request=request, message=message, **{**usual, **values})


def answered(at: float, request: int, status: int | None = 200, **values: Any) -> Answered:  # noqa: ANN401  likewise
    """A request was answered."""
    return Answered(at=at, request=request, status=status, **values)


def leased(at: float, epoch: int, worker: str = "worker 0") -> Leased:
    """A worker was given the shard of the story."""
    return Leased(at, worker, 7, epoch)


def settled(at: float, message: str = ONE, **values: Any) -> Settled:  # noqa: ANN401  likewise
    """A settlement was committed."""
    usual = {
        "worker": "worker 0",
        "shard": 7,
        "epoch": 1,
        "endpoint": HERE,
        "number": 1,
        "state": State.DELIVERED,
    }
    return Settled(at=at, message=message, **{**usual, **values})


def delivery(
    message: str = ONE,
    state: State = State.DELIVERED,
    reason: Reason = Reason.DELIVERED,
    **values: Any,  # noqa: ANN401  likewise
) -> tuple[tuple[str, str], Delivery]:
    """A delivery in the store at the end."""
    row = Delivery(
        lane=1, seq=1, message=message, state=state, reason=reason, accepted_at=0.0, **values
    )
    return (message, HERE), row


def ending(
    *deliveries: tuple[tuple[str, str], Delivery], tasks: list[Task] | None = None
) -> Ending:
    """Return the content of the store at the end."""
    return Ending(at=END, deliveries=dict(deliveries), tasks=tasks or [])


def log_of(*entries: Entry) -> list[Entry]:
    """Return a log of these entries."""
    return list(entries)


def found(entries: list[Entry], end: Ending | None = None) -> list[Violation]:
    """Return the violations that the checker finds in a log, sorted by time."""
    in_order = sorted(entries, key=lambda entry: entry.at)
    return violations(in_order, end or ending())


def rules(entries: list[Entry], end: Ending | None = None) -> set[str]:
    """Return the names of the rules that a log breaks."""
    return {violation.rule for violation in found(entries, end)}


def story() -> list[Entry]:
    """Return the log of one message without any fault."""
    return [
        added(),
        leased(0.1, 1),
        accepted(1),
        requested(1.1, 1),
        answered(1.2, 1),
        settled(1.3),
    ]

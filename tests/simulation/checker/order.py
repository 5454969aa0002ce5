"""Ordered endpoints get one request at a time, and get messages in the order of acceptance."""

from collections.abc import Iterator

from tarry.service.model.delivery import LIVE, Reason, State
from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.log import Requested, Settled

REORDERING = frozenset({"recover", "replay", "resend", "cancel"})


def order(facts: Facts) -> Iterator[Violation]:
    """Check all endpoints that have been ordered throughout."""
    for endpoint, changes in facts.changes.items():
        if all(change.endpoint.fifo for change in changes):
            yield from _one_at_a_time(facts, endpoint)
            yield from _in_order(facts, endpoint)


def _one_at_a_time(facts: Facts, endpoint: str) -> Iterator[Violation]:
    on_its_way: Requested | None = None
    ends_at = 0.0
    for request in facts.at_endpoint[endpoint]:
        together = on_its_way if ends_at > request.at else None
        if together is not None and not facts.sudden_between(together.at, request.at):
            text = (
                f"{endpoint} is ordered and got {request.message} from {request.worker} while"
                f" {together.message} of {together.worker} was on its way"
            )
            yield Violation(request.at, "two at a time", text)
        answer = facts.answers.get(request.request)
        on_its_way, ends_at = request, facts.ending.at if answer is None else answer.at


def _in_order(facts: Facts, endpoint: str) -> Iterator[Violation]:
    if facts.losses or any(
        one.wish in REORDERING and one.endpoint in (None, endpoint) for one in facts.asked
    ):
        return
    first_taken = _first_taken(facts, endpoint)
    ended_at = _ended_at(facts, endpoint)
    line = [
        message
        for message, accepted in facts.accepted.items()
        if endpoint in accepted.endpoints
        and accepted.scheduled_for is None
        and not _holds_up_nobody(facts, message, endpoint)
    ]
    for place, later in enumerate(line):
        at = first_taken.get(later)
        if at is None:
            continue
        for earlier in line[:place]:
            gone_at = min(first_taken.get(earlier, at + 1), ended_at.get(earlier, at + 1))
            if gone_at > at:
                text = f"{endpoint} took {later} before {earlier}, which was accepted first"
                yield Violation(at, "out of order", text)


def _holds_up_nobody(facts: Facts, message: str, endpoint: str) -> bool:
    """Whether a message became too old, or was skipped since its endpoint was disabled."""
    delivery = facts.ending.deliveries.get((message, endpoint))
    return delivery is not None and (
        delivery.reason is Reason.AGED or delivery.state is State.SKIPPED
    )


def _first_taken(facts: Facts, endpoint: str) -> dict[str, float]:
    taken: dict[str, float] = {}
    for request in facts.at_endpoint[endpoint]:
        answer = facts.answers.get(request.request)
        if answer is not None and answer.is_taken:
            taken[request.message] = min(answer.at, taken.get(request.message, answer.at))
    return taken


def _ended_at(facts: Facts, endpoint: str) -> dict[str, float]:
    ended: dict[str, float] = {}
    for entry in facts.all(Settled):
        if entry.endpoint == endpoint and entry.state not in LIVE:
            ended.setdefault(entry.message, entry.at)
    return ended

"""Nothing accepted is lost: each delivery is live, or has ended for a reason that holds."""

import math
from collections.abc import Iterator

from tarry.service.model.delivery import LIVE, Delivery, Reason, State
from tarry.service.model.endpoint import Standing
from tests.simulation.checker.facts import LATELY, Facts, Violation
from tests.simulation.checker.policies import attempts_allowed, oldest_allowed
from tests.simulation.checker.refusals import retries_of_unwanted_types
from tests.simulation.log import Accepted, Acknowledged, Answered, Requested

REFUSALS = frozenset({400, 401, 403, 404, 405, 413, 422})
GONE = 410
CLOCKS_DIFFER = 5.0
"""Seconds by which the clocks of a history may differ, except clocks that were set."""
OPENS_AFTER, KNOWN_AFTER = 8, 5.0
"""After this many failures in a row, over this many seconds, an outage costs no more attempts."""
HALF = 0.5
UNLIKELY = 1e-6
"""How unlikely a row of failures must be to be an outage, where many fail by chance."""


def kept(facts: Facts) -> Iterator[Violation]:
    """Check the delivery of every accepted message at every endpoint that it goes to."""
    yield from _accepted_twice(facts)
    for told in facts.all(Acknowledged):
        if told.message not in facts.accepted:
            text = f"{told.message} was acknowledged, and no commit has accepted it"
            yield Violation(told.at, "accepted and lost", text)
    for message, accepted in facts.accepted.items():
        if facts.was_lost(accepted.at):
            continue
        for endpoint in accepted.endpoints:
            if any(facts.was_lost(change.at) for change in facts.changes[endpoint][:1]):
                continue  # the endpoint itself was lost
            delivery = facts.ending.deliveries.get((message, endpoint))
            if delivery is None:
                yield Violation(
                    accepted.at, "accepted and lost", f"{message} has no delivery to {endpoint}"
                )
            elif delivery.state not in LIVE and not _is_justified(
                facts, message, endpoint, delivery
            ):
                answers = [one.status or "none" for one in _answers(facts, message, endpoint)]
                text = (
                    f"{message} to {endpoint} ended as {delivery.state} ({delivery.reason});"
                    f" the answers were {answers}"
                )
                yield Violation(facts.ending.at, "ended without cause", text)


def _accepted_twice(facts: Facts) -> Iterator[Violation]:
    """Check that a message with a key is accepted once, however often it is sent."""
    known: dict[str, Accepted] = {}
    for accepted in facts.accepted.values():
        if accepted.key is None or facts.was_lost(accepted.at):
            continue
        if accepted.key in known:
            text = f"{known[accepted.key].message} and {accepted.message}: both are {accepted.key}"
            yield Violation(accepted.at, "accepted twice", text)
        known[accepted.key] = accepted


def _is_justified(facts: Facts, message: str, endpoint: str, delivery: Delivery) -> bool:
    """Whether the log has a cause for the way a delivery ended."""
    answers = _answers(facts, message, endpoint)
    changes = [one for one in facts.changes[endpoint] if not facts.was_lost(one.at)]
    standings = {change.endpoint.standing for change in changes}
    match delivery.state:
        case State.DELIVERED:
            return any(answer.is_success for answer in answers)
        case State.CANCELLED:
            return any(
                one.wish == "cancel" and one.message == message and not facts.was_lost(one.at)
                for one in facts.asked
            )
        case State.DISCARDED:
            return Standing.DELETED in standings
        case State.SKIPPED:
            return Standing.DISABLED in standings
        case _:
            return _may_fail(facts, message, endpoint, delivery)


def _may_fail(facts: Facts, message: str, endpoint: str, delivery: Delivery) -> bool:
    """Whether a delivery may fail for its reason, given the answers."""
    answers = _answers(facts, message, endpoint)
    statuses = {answer.status for answer in answers}
    match delivery.reason:
        case Reason.REFUSED:
            return bool(statuses & REFUSALS)
        case Reason.GONE:
            return GONE in statuses
        case Reason.AGED:
            accepted_at = facts.accepted[message].at
            stepped = sum(abs(fault.seconds) for fault in facts.faults)
            lived = facts.ending.at - accepted_at + _held_up(facts, accepted_at) + stepped
            return lived >= oldest_allowed(facts, endpoint) - CLOCKS_DIFFER
        case Reason.EXHAUSTED:
            allowed = attempts_allowed(facts, endpoint, least=True)
            failed = sum(not answer.is_success for answer in answers)
            used_up = _used_up_by_outage(facts, message, endpoint, allowed)
            return failed >= allowed and not used_up
        case _:
            return False


def _held_up(facts: Facts, accepted_at: float) -> float:
    """Return how many seconds a message may have waited for its commit at a store that was stuck.

    Its age counts from its request to the API.
    """
    stuck = (fault for fault in facts.faults if fault.kind == "stuck")
    return max(
        (
            accepted_at - fault.at
            for fault in stuck
            if fault.process in {None, "api"} and fault.at <= accepted_at <= fault.until + 1
        ),
        default=0.0,
    )


def _used_up_by_outage(facts: Facts, message: str, endpoint: str, attempts: float) -> bool:
    """Whether a delivery had fewer failures than allowed besides those in a long outage.

    After a fault a new worker finds out again, unless the last one knew and could write it down.
    """
    failed = own = in_a_row = 0
    by_chance = Chance()
    is_known = False
    since, taken_at = 0.0, -math.inf
    types: set[str] = set()
    unwanted = retries_of_unwanted_types(facts, endpoint)
    last: Requested | None = None
    for request in facts.at_endpoint[endpoint]:
        answer = facts.answers.get(request.request)
        if last and last.worker != request.worker and facts.fault_between(last.at, request.at):
            is_written = is_known and not facts.store_failed_between(since, request.at)
            in_a_row, types = (in_a_row, types) if is_written else (0, set())
        last = request
        if request.request in unwanted:
            pass
        elif answer is None or answer.is_success or not request.is_down:
            in_a_row, types = 0, set()
            taken_at = request.at if answer is not None and answer.is_success else taken_at
        else:
            since = since if in_a_row else request.at
            in_a_row += 1
            types.add(facts.event_type(request))
        # If one type alone fails, and others were accepted recently, it may be about that type.
        of_all = len(types) > 1 or request.at - taken_at > LATELY
        by_chance.count(request, answer)
        is_known = of_all and in_a_row > by_chance.row() and request.at - since > KNOWN_AFTER
        if request.message == message and answer is not None and not answer.is_success:
            failed += 1
            own += not is_known
    return own < attempts <= failed


class Chance:
    """Counts how many requests of an endpoint failed by chance while it was not down."""

    def __init__(self) -> None:
        self._failed = self._answers = 0

    def count(self, request: Requested, answer: Answered | None) -> None:
        """Count a request."""
        if answer is not None and not request.is_down:
            self._answers += 1
            self._failed += not answer.is_success

    def row(self) -> int:
        """Return how many failures in a row are surely an outage: more where many fail anyway."""
        share = min(self._failed / max(1, self._answers), HALF)
        return max(OPENS_AFTER, math.ceil(math.log(UNLIKELY) / math.log(share)) if share else 0)


def _answers(facts: Facts, message: str, endpoint: str) -> list[Answered]:
    return [
        facts.answers[request.request]
        for request in facts.requests[message, endpoint]
        if request.request in facts.answers
    ]

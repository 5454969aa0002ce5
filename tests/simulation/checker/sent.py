"""Only accepted messages are sent, only to their endpoints, and not after a person stopped them."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.log import Requested, Settled

SOON = 2.5
"""Seconds until a change that a person made has reached the worker. If it missed the notice, it
looks for changes every two seconds, and then has to read them."""
AFTER_A_FAULT = 5.0
EARLY = 0.05
"""How much earlier than scheduled a message may go, for clocks that differ."""


def sent(facts: Facts) -> Iterator[Violation]:
    """Check every request against the messages, endpoints and people's requests before it."""
    for requests in facts.at_endpoint.values():
        for request in requests:
            yield from _unaccepted(facts, request)
            yield from _stopped(facts, request)


def _unaccepted(facts: Facts, request: Requested) -> Iterator[Violation]:
    accepted = facts.accepted.get(request.message)
    name = f"{request.message} to {request.endpoint}"
    if accepted is None or accepted.at > request.at:
        yield Violation(request.at, "sent and not accepted", f"{name} was never accepted")
        return
    if request.endpoint not in accepted.endpoints and not any(
        one.wish in {"resend", "replay"}
        and one.endpoint == request.endpoint
        and one.at <= request.at
        for one in facts.asked
    ):
        yield Violation(request.at, "sent and not accepted", f"{name} is not meant for it")
    due = accepted.scheduled_for
    if due is None or request.at >= due - EARLY:
        return
    wishes = facts.asked_between(0, request.at, endpoint=request.endpoint)
    if not wishes and not facts.sudden_between(0, request.at):
        text = f"{name} was scheduled for {due:.3f}"
        yield Violation(request.at, "sent too early", text)


def _stopped(facts: Facts, request: Requested) -> Iterator[Violation]:
    """Check that stopped endpoints get nothing, and that cancelled messages are not sent."""
    late = request.at - SOON
    if any(
        fault.at <= request.at and fault.until >= late - AFTER_A_FAULT and fault.message is None
        for fault in facts.faults
    ):
        return
    before = [one for one in facts.changes[request.endpoint] if one.at <= request.at]
    recent = [one for one in before if one.at > late]
    if before and not recent and before[-1].endpoint.standing is not Standing.ENABLED:
        standing = before[-1].endpoint.standing
        since = before[-1].at
        text = f"{request.message} to {request.endpoint}, which is {standing} since {since:.3f}"
        yield Violation(request.at, "sent although stopped", text)
    if before and not recent and request.host != urlsplit(before[-1].endpoint.url).hostname:
        text = f"{request.message} to {request.host}, but it is at {before[-1].endpoint.url}"
        yield Violation(request.at, "sent to an old address", text)
    cancelled = [
        one for one in facts.asked if one.wish == "cancel" and one.message == request.message
    ]
    wishes = [
        one
        for one in facts.asked_between(0, request.at, endpoint=request.endpoint)
        if one.wish in {"resend", "replay"}
    ]
    # A delivery that had failed before is not cancelled, and may be recovered.
    had_failed = any(
        entry.state is State.FAILED and entry.at <= cancelled[0].at
        for entry in facts.all(Settled)
        if cancelled and (entry.message, entry.endpoint) == (request.message, request.endpoint)
    )
    if cancelled and cancelled[0].at < late and not wishes and not had_failed:
        text = f"{request.message} to {request.endpoint} was cancelled at {cancelled[0].at:.3f}"
        yield Violation(request.at, "sent although cancelled", text)

"""An endpoint gets no more requests in a second, at a time, or while it is down than is allowed."""

from collections.abc import Container, Iterator
from itertools import groupby, islice

from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.checker.holds import TOO_MANY
from tests.simulation.checker.kept import OPENS_AFTER, Chance
from tests.simulation.checker.refusals import retries_of_unwanted_types
from tests.simulation.log import Requested

TOLERANCE = 0.001
SETTLING = 2.0
"""Seconds in which a new limit reaches the worker."""
DOWN_AFTER = 3.0
"""Seconds that the service may take after the first failure to notice that an endpoint is down."""
PROBES = 20
"""How many probes there may be in ten minutes; a history is shorter."""
FIRST_PROBES = 10
"""How many there may be at first; later one a second, up to that number."""
AT_A_PACE = 20
"""How many more there may be to an endpoint that fails while others of its host are sent what
waited: it may need only a slower pace."""
RECOVERY_SECONDS = 10.0
"""How long ago a request to another endpoint of a host that recovers may have failed."""
MORE = 6
"""How many more requests a new owner, or a change, may need to notice it again."""


def limits(facts: Facts) -> Iterator[Violation]:
    """Check the limits of every application and every endpoint."""
    for application, rate in facts.rates.items():
        if rate is not None:
            yield from _application_rate(facts, application, rate)
    for endpoint, requests in facts.at_endpoint.items():
        yield from _rate(facts, endpoint, requests)
        yield from _concurrency(facts, endpoint, requests)
        yield from _probes(facts, endpoint, requests)


def _limit_at(facts: Facts, endpoint: str, name: str, at: float) -> float | None:
    """Return the loosest value of a limit that may still have held at an instant."""
    values: list[float | None] = []
    for change in facts.changes[endpoint]:
        if change.at <= at:
            settled = change.at <= at - SETTLING and not facts.fault_between(change.at, at)
            values = [*([] if settled else values), getattr(change.endpoint, name)]
    known = [value for value in values if value is not None]
    return None if len(known) < len(values) else max(known, default=None)


def _rate(facts: Facts, endpoint: str, requests: list[Requested]) -> Iterator[Violation]:
    for place, request in enumerate(requests):
        rate = _limit_at(facts, endpoint, "rate", request.at)
        if rate is None or place < (allowed := max(1, int(rate))):
            continue
        first = requests[place - allowed].at
        if _limit_at(facts, endpoint, "rate", first) != rate:
            continue  # the worker may have learned of the rate only after some of these requests
        least = max(1.0, 1 / rate) * (1 - TOLERANCE)
        if request.at - first < least and not facts.sudden_between(first - SETTLING, request.at):
            took = request.at - first
            text = f"{endpoint} allows {rate:g}/s and got {allowed + 1} requests in {took:.3f} s"
            yield Violation(request.at, "too fast", text)


def _application_rate(facts: Facts, application: str, rate: float) -> Iterator[Violation]:
    """Check the rate that all endpoints of an application share; no history changes it."""
    requests = sorted(
        (
            request
            for endpoint, at_endpoint in facts.at_endpoint.items()
            if facts.application(endpoint) == application
            for request in at_endpoint
        ),
        key=lambda request: request.at,
    )
    allowed, least = max(1, int(rate)), max(1.0, 1 / rate) * (1 - TOLERANCE)
    for first, request in zip(requests, requests[allowed:], strict=False):
        took = request.at - first.at
        if took < least and not facts.sudden_between(first.at - SETTLING, request.at):
            text = (
                f"{application} allows {rate:g}/s for all its endpoints together and"
                f" got {allowed + 1} requests in {took:.3f} s"
            )
            yield Violation(request.at, "too fast", text)


def _concurrency(facts: Facts, endpoint: str, requests: list[Requested]) -> Iterator[Violation]:
    for place, request in enumerate(requests):
        most = _limit_at(facts, endpoint, "concurrency", request.at)
        if most is None:
            continue
        together = [
            other
            for other in requests[:place]
            if other.worker == request.worker
            and (other.request not in facts.answers or facts.answers[other.request].at > request.at)
        ]
        if len(together) + 1 > most and not _was_lost(facts, together[0], request):
            text = f"{endpoint} allows {most:g} at a time and had {len(together) + 1}"
            yield Violation(request.at, "too many at a time", text)


def _was_lost(facts: Facts, first: Requested, request: Requested) -> bool:
    """Whether the worker may have lost the endpoint since, with its request in flight."""
    return facts.fault_between(first.at, request.at, worker=first.worker) is not None


def _probes(facts: Facts, endpoint: str, requests: list[Requested]) -> Iterator[Violation]:
    """Count the requests to an endpoint while it is down, from a few seconds after one failed.

    A request to an endpoint that hangs fails when it times out. Where many fail by chance, it takes
    a longer row of failures to notice that it is down.
    """
    retries = retries_of_unwanted_types(facts, endpoint)
    by_chance = Chance()
    for is_down, group in groupby(requests, key=lambda request: request.is_down):
        outage = list(group)
        if is_down:
            longer = by_chance.row() - OPENS_AFTER
            longer += AT_A_PACE * _may_fail_by_the_pace(facts, outage)
            yield from islice(_too_many(facts, endpoint, outage, retries, longer), 1)
        for request in outage:
            by_chance.count(request, facts.answers.get(request.request))


def _too_many(
    facts: Facts, endpoint: str, outage: list[Requested], retries: Container[int], longer: int
) -> Iterator[Violation]:
    answers = [facts.answers[one.request] for one in outage if one.request in facts.answers]
    down_since = min((answer.at for answer in answers), default=outage[0].at)
    probes = 0
    for request in outage:
        probes += request.at > down_since + DOWN_AFTER and request.request not in retries
        allowed = longer + min(PROBES, FIRST_PROBES + max(0.0, request.at - down_since))
        if probes > allowed + _allowance(facts, endpoint, down_since, request.at):
            text = f"{endpoint} is down since {down_since:.3f} and was tried {probes} times"
            yield Violation(request.at, "too many probes", text)


def _may_fail_by_the_pace(facts: Facts, outage: list[Requested]) -> bool:
    """Whether a slower pace might have helped: others of the host accepted requests meanwhile.

    That is if the endpoint answered 429, or if it failed first while its host recovered.
    """
    answers = [facts.answers[one.request] for one in outage if one.request in facts.answers]
    others = [
        other
        for requests in facts.at_endpoint.values()
        for other in requests
        if other.host == outage[0].host and other.endpoint != outage[0].endpoint
    ]
    recovers = any(
        other.is_down and 0 < outage[0].at - other.at < RECOVERY_SECONDS for other in others
    )
    throttles = any(answer.status == TOO_MANY for answer in answers)
    return (throttles or recovers) and any(
        outage[0].at <= answer.at <= outage[-1].at and answer.is_success
        for other in others
        if (answer := facts.answers.get(other.request)) is not None
    )


def _allowance(facts: Facts, endpoint: str, since: float, until: float) -> int:
    """Return how many more requests are explained by people and by changes of ownership."""
    wishes = facts.asked_between(since, until, endpoint=endpoint)
    changes = [one for one in facts.changes[endpoint] if since <= one.at <= until]
    faults = [fault for fault in facts.faults if fault.until >= since and fault.at <= until]
    return MORE * (len(wishes) + len(changes) + len(faults))

"""The doctor's checks of the backlog in a database."""

from contextlib import suppress
from typing import TYPE_CHECKING

from tarry.cli.doctor.endpoint_facts import EndpointFacts
from tarry.cli.doctor.finding import Finding, advice, ok, wrong
from tarry.core.pace import Phase
from tarry.errors import NotFound
from tarry.service.explain import explain, origins_of, outlook
from tarry.service.last_attempt import attempted_at
from tarry.service.model.delivery import LIVE
from tarry.service.model.listing import AttemptFilter, Cut, MessageFilter
from tarry.service.store.kinds import (
    Applications,
    AttemptsTo,
    Environments,
    Lanes,
    SealedEndpoints,
    Undelivered,
)

if TYPE_CHECKING:
    from tarry.service.model.endpoint import Endpoint
    from tarry.service.store.contract import Store

DAY = 86_400.0
ROWS_PER_READ = 100
MOST_ENDPOINTS = 2_000
"""The doctor looks at no more endpoints than this."""


async def backlog(store: "Store", *, now: float) -> list[Finding]:
    """Check the deliveries to all endpoints."""
    facts, after, apps = EndpointFacts(MOST_ENDPOINTS), "", dict[str, str]()
    while not facts.is_full and (
        endpoints := await store.read(SealedEndpoints(after=after, limit=ROWS_PER_READ))
    ):
        after = endpoints[-1].id
        for endpoint in endpoints:
            if endpoint.application not in apps:
                apps[endpoint.application] = await _uid_or_id(store, endpoint.application)
            name = f"{apps[endpoint.application]} {endpoint.uid or endpoint.id}"
            await _count(store, endpoint, name, facts, now)
    return [await _delivering(store, facts.waiting), *facts.findings(now)]


async def _delivering(store: "Store", waiting: int) -> Finding:
    """Check whether any worker is running."""
    if workers := (await store.server()).workers:
        return ok("workers", f"running: {workers}")
    word = wrong if waiting else advice
    return word("workers", "no worker is running: start tarry serve or tarry worker")


async def _uid_or_id(store: "Store", application: str) -> str:
    """Return the application's uid, or its id if it has none; an endpoint has only the id."""
    for environment in await store.read(Environments()):
        with suppress(NotFound):
            return (await store.get(Applications(environment.id), application)).uid or application
    return application


async def _count(
    store: "Store", endpoint: "Endpoint", name: str, facts: EndpointFacts, now: float
) -> None:
    """Add an endpoint's state, its backlog and its last success to the facts."""
    row = await store.get(Lanes(endpoint.application), endpoint.id)
    origins = await store.origins(origins_of(row))
    down = outlook(row, now=now, origins=origins).phase is Phase.OPEN
    facts.add(name, standing=endpoint.standing, down=down, waiting=row.waiting)
    facts.succeeded(row.known.accepted_at)
    # A lane saves the time of its last success only now and then, so look at the attempts as well.
    recent_successes = AttemptFilter(message=MessageFilter(after=now - DAY), succeeded=True)
    page = await store.page(AttemptsTo(endpoint, recent_successes), Cut(1, descending=True))
    for attempt, _ in page.entries:
        facts.succeeded(attempt.at)
    if row.waiting:
        last_end = await attempted_at(store, endpoint)
        # Failed and scheduled deliveries are listed as well, so the oldest waiting one may be
        # beyond this page.
        deliveries = await store.read(
            Undelivered(endpoint.application, lane=row.lane, limit=ROWS_PER_READ)
        )
        for _, delivery in deliveries:
            if delivery.state in LIVE:
                facts.waits_since(delivery.accepted_at)
                explanation = explain(
                    delivery, row, [], now=now, origins=origins, attempted_at=last_end
                )
                if explanation.overdue:
                    facts.overdue(name)

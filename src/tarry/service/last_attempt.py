"""Find the last attempt at an endpoint, which tells whether it fails and whether it is served."""

from typing import TYPE_CHECKING

from tarry.service.model.listing import AttemptFilter, Cut
from tarry.service.store.kinds import AttemptsTo

if TYPE_CHECKING:
    from tarry.service.model.attempt import Attempt
    from tarry.service.model.endpoint import Endpoint
    from tarry.service.store.contract import Store

NEWEST = Cut(limit=1, descending=True)


async def last_attempt(store: "Store", endpoint: "Endpoint") -> "Attempt | None":
    """Return the last attempt at an endpoint that is recorded, whatever its answer was."""
    page = await store.page(AttemptsTo(endpoint, AttemptFilter()), NEWEST)
    return next((attempt for attempt, _ in page.entries), None)


async def attempted_at(store: "Store", endpoint: "Endpoint") -> float | None:
    """Return when the last attempt at an endpoint ended, None if none has been recorded."""
    last = await last_attempt(store, endpoint)
    return None if last is None else last.now or last.at

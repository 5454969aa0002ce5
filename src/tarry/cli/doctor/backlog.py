"""What the doctor sees of what waits: endpoints that are down or parked, the oldest, successes."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from tarry.cli.doctor.finding import Finding, advice, ok
from tarry.core.duration import spoken
from tarry.core.pace import Phase
from tarry.service.explain import outlook
from tarry.service.model.delivery import LIVE
from tarry.service.model.endpoint import Standing
from tarry.service.model.listing import AttemptFilter, Cut, MessageFilter

if TYPE_CHECKING:
    from tarry.service.model.lane import LaneRow
    from tarry.service.store.contract import Store

DAY = 86_400.0
PAGE = 100
MOST = 2_000
"""Endpoints that are looked at."""
NAMED = 3
"""Endpoints that are named, of those something is the matter with."""


class _Tally:
    """What was seen of all lanes."""

    def __init__(self) -> None:
        self.seen, self.waiting = 0, 0
        self.oldest_at: float | None = None
        self.success_at: float | None = None
        self.down: list[str] = []
        self.parked: list[str] = []
        self.paused: list[str] = []

    def add(self, row: "LaneRow", origin: bytes, now: float) -> None:
        """Count a lane."""
        self.seen += 1
        self.waiting += row.waiting
        endpoint, known = row.endpoint, row.known
        if known.accepted_at is not None:
            self.success_at = max(self.success_at or 0.0, known.accepted_at)
        if endpoint.standing is Standing.PARKED:
            self.parked.append(endpoint.id)
        elif endpoint.standing is Standing.PAUSED:
            self.paused.append(endpoint.id)
        elif outlook(row, now=now, origin=origin).phase is Phase.OPEN:
            self.down.append(endpoint.id)


async def backlog(store: "Store", *, now: float) -> AsyncIterator[Finding]:
    """How the sending to all endpoints goes."""
    tally, after = _Tally(), ""
    while tally.seen < MOST and (found := await store.sealed(after=after, limit=PAGE)):
        after = found[-1].id
        for endpoint in found:
            row = await store.lane(endpoint.application, endpoint.id)
            origin = await store.origin(row.known.origin) if row.known.origin else b""
            tally.add(row, origin, now)
            await _success(store, row, tally, now)
            if row.waiting:
                await _older(store, row, tally)
    for finding in _told(tally, now):
        yield finding


async def _success(store: "Store", row: "LaneRow", tally: _Tally, now: float) -> None:
    """Take note of a lane's last success: what lanes know of theirs is written down later."""
    lately = AttemptFilter(message=MessageFilter(after=now - DAY), succeeded=True)
    for attempt, _ in await store.list_attempts_to(row.endpoint, Cut(1, descending=True), lately):
        tally.success_at = max(tally.success_at or 0.0, attempt.at)


async def _older(store: "Store", row: "LaneRow", tally: _Tally) -> None:
    """Take note of a lane's oldest delivery that waits, behind a hundred that failed at most."""
    for _, one in await store.undelivered(row.application.id, lane=row.lane, limit=PAGE):
        if one.state in LIVE:
            tally.oldest_at = min(tally.oldest_at or one.accepted_at, one.accepted_at)
            return


def _told(tally: _Tally, now: float) -> list[Finding]:
    said = f"deliveries that wait: {tally.waiting}"
    if tally.oldest_at is not None:
        said += f", the oldest for {spoken(max(0.0, now - tally.oldest_at))}"
    first = f" (the first {MOST} were looked at)" if tally.seen >= MOST else ""
    found = [ok("backlog", f"{said}; endpoints: {tally.seen}{first}")]
    for check, ids, words in (
        ("down", tally.down, "are down and only probed: tarry endpoint lane"),
        ("parked", tally.parked, "were disabled after days of failure: tarry endpoint resume"),
        ("paused", tally.paused, "are paused: tarry endpoint resume"),
    ):
        if ids:
            named = ", ".join(ids[:NAMED]) + (", ..." if len(ids) > NAMED else "")
            found.append(advice(check, f"{len(ids)} {words}; {named}"))
        else:
            found.append(ok(check, "none"))
    if tally.success_at is not None:
        since = spoken(max(0.0, now - tally.success_at))
        found.append(ok("success", f"the last one was {since} ago"))
    elif tally.seen:
        found.append(advice("success", "there was none so far"))
    return found

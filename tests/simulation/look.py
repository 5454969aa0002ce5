"""Checks the queues once a second for endpoints that have deliveries to send but get no request.

It reads the store without delays or faults, and changes nothing.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from tarry.service.explain import Outlook, PaceScope, origins_of, outlook
from tarry.service.hooks import Hooks
from tarry.service.model.delivery import LIVE, Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import LaneRow
from tarry.service.store.kinds import Messages, Undelivered
from tests.simulation.commits import Commits
from tests.simulation.endpoints import Endpoints
from tests.simulation.log import Explained, Log, Waiting
from tests.simulation.loop import SimulatedLoop
from tests.simulation.planted.bug import Bug
from tests.simulation.store_link import at_once

EVERY = 1.0
SLOWEST_PACE = 4.0
"""The longest pause between two requests at any pace."""
REFUSED_AGAIN_AFTER = 65.0
"""Within how many seconds a refused settlement is tried again."""
SOON = 40.0
"""In how many seconds a delivery must be due for the history to wait for it."""


class Look:
    """Looks at all endpoints, again and again.

    `is_quiet` says that nothing will be sent soon; `is_drained` that nothing is left to send.
    `late_nudges` is how long it may take until a worker learns of new work. `refused` are the
    messages whose settlements the store refuses, and until when.
    """

    def __init__(  # noqa: PLR0913  all that it looks at
        self,
        observer: Hooks,
        *,
        clock: Callable[[], float],
        loop: SimulatedLoop,
        log: Log,
        endpoints: Endpoints,
        commits: Commits,
        bug: Bug,
        refused: Mapping[str, float],
        late_nudges: float = 0.0,
    ) -> None:
        self._observer, self._store, self._clock = observer, observer.store, clock
        self._loop, self._log, self._endpoints, self._commits = loop, log, endpoints, commits
        self._bug, self._refused, self._late_nudges = bug, refused, late_nudges
        self._idle_since: dict[str, float] = {}
        self._turns = Counter[str]()
        """How many endpoints of each application have deliveries: they take turns at its rate."""
        self.is_quiet = self.is_drained = False

    def start(self) -> None:
        """Look every second from now on."""
        self._loop.later_in(self._loop.world, EVERY, self._look)

    def _look(self) -> None:
        self._loop.later_in(self._loop.world, EVERY, self._look)
        busy = self._endpoints.busy()
        self.is_quiet = self.is_drained = not busy
        rows: Sequence[LaneRow] = at_once(self._store.lanes(list(self._commits.known.lanes)))
        self._turns = Counter(row.application.id for row in rows if row.waiting)
        for row in rows:
            self._look_at(row, busy)

    def _look_at(self, row: LaneRow, busy: set[str]) -> None:
        endpoint = row.endpoint
        if not row.waiting:
            self._idle_since.pop(endpoint.id, None)
            return
        live = self._live(row)
        standing = row.endpoint.standing
        if live and standing in {Standing.PAUSED, Standing.DISABLED}:
            self._explain(endpoint, live[0])
        clock = self._clock()
        eligible = [one for one in live if may_go_by(one, clock)]
        eligible = self._writable(eligible, fifo=row.endpoint.fifo)
        if row.endpoint.fifo and any(_holds_up(one, clock) for one in live):
            eligible = []
        if standing is Standing.ENABLED and live:
            self.is_drained = False
            if any(may_go_by(one, clock + SOON) for one in live):
                self.is_quiet = False
        if endpoint.id in busy or not eligible or standing is not Standing.ENABLED:
            self._idle_since.pop(endpoint.id, None)
            return
        now = self._loop.time()
        accepted = self._commits.known.accepted.get(eligible[0].message)
        since = max(
            self._idle_since.setdefault(endpoint.id, now),
            self._endpoints.last_at.get(endpoint.id, 0.0),
            0.0 if accepted is None else accepted.at,
        )
        if now - since >= EVERY:
            self._wait(row, eligible, since, busy)

    def _live(self, row: LaneRow) -> list[Delivery]:
        found = at_once(self._store.read(Undelivered(row.endpoint.application, lane=row.lane)))
        return [delivery for _, delivery in found if delivery.state in LIVE]

    def _writable(self, eligible: list[Delivery], *, fifo: bool) -> list[Delivery]:
        """Leave out deliveries that may have been sent already, with a settlement that was refused.

        An ordered endpoint waits for such a delivery if it is the first one.
        """
        late = self._loop.time() - REFUSED_AGAIN_AFTER
        refused = {message for message, until in self._refused.items() if until > late}
        if fifo and eligible and eligible[0].message in refused:
            return []
        return [delivery for delivery in eligible if delivery.message not in refused]

    def _wait(self, row: LaneRow, eligible: list[Delivery], since: float, busy: set[str]) -> None:
        endpoint, first = row.endpoint, eligible[0]
        learned = at_once(self._store.origins(origins_of(row)))
        view = outlook(row, now=self._clock(), origins=learned)
        if view.scope is not PaceScope.ENDPOINT:  # endpoints of its host take turns
            host = urlsplit(endpoint.url).hostname or ""
            # A probe is awaited. At a pace, a request that hangs holds up no other endpoint.
            if host in busy and (view.rate is None or not self._endpoints.hangs(host)):
                return
            since = max(since, self._endpoints.last_at.get(host, 0.0))
        message = at_once(self._store.get(Messages(endpoint.application), first.message))
        told = self._bug.explained(at_once(self._observer.explain(message, endpoint)))
        ahead = self._clock() - self._loop.time()
        self._log.add(
            Waiting(
                at=self._loop.time(),
                endpoint=endpoint.id,
                message=first.message,
                eligible=len(eligible),
                since=since,
                reason=told.reason.value,
                next_at=None if told.next_at is None else told.next_at - ahead,
                gap=gap(row, view, self._turns[row.application.id]) + self._late_nudges,
                fifo=endpoint.fifo,
            )
        )

    def _explain(self, endpoint: Endpoint, delivery: Delivery) -> None:
        message = at_once(self._store.get(Messages(endpoint.application), delivery.message))
        told = self._bug.explained(at_once(self._observer.explain(message, endpoint)))
        self._log.add(
            Explained(
                at=self._loop.time(),
                endpoint=endpoint.id,
                message=message.id,
                reason=told.reason.value,
            )
        )


def gap(row: LaneRow, view: Outlook, turns: int) -> float:
    """Return the longest pause between two requests that limits and pace account for."""
    longest = max((1 / rate for rate in (row.endpoint.rate, view.rate) if rate), default=0.0)
    if row.application.rate:
        longest = max(longest, turns / row.application.rate)
    # The stored pace is that of the lane's last change of phase.
    return longest if view.rate is None else max(longest, SLOWEST_PACE)


def _holds_up(delivery: Delivery, clock: float) -> bool:
    """Whether the others of an ordered endpoint have to wait for a delivery's next attempt."""
    scheduled = delivery.reason is Reason.SCHEDULED
    return delivery.state is State.WAITING and not scheduled and not may_go_by(delivery, clock)


def may_go_by(delivery: Delivery, clock: float) -> bool:
    """Whether a live delivery does not wait for its own due time."""
    return delivery.state is State.READY or (delivery.due_at or 0.0) <= clock

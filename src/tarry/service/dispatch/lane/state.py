"""What a lane knows of itself: its endpoint, its gate, its record, and how much waits in it."""

import math
from abc import ABC, abstractmethod
from sys import intern
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tarry.core.pace import Phase
from tarry.service.dispatch.buffer.buffer import Buffer
from tarry.service.dispatch.context import Context, OwnedShard
from tarry.service.dispatch.lane.config import LaneConfig
from tarry.service.dispatch.lane.endpoint_record import EndpointRecord, stands
from tarry.service.dispatch.limits import pace_text
from tarry.service.dispatch.limits import retry_budget as budget
from tarry.service.dispatch.limits.gate import RULE, Gate
from tarry.service.dispatch.limits.spacing import LONG_AGO, UNLIMITED, Spacing
from tarry.service.dispatch.limits.tenant_rate import TenantRate
from tarry.service.dispatch.outcomes.doubts import Doubts
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Due, LaneRow

if TYPE_CHECKING:
    from tarry.service.dispatch.origins.origin import Origin

TRUST = 8
"""How many may be in the air at first; each that is taken makes it one more, up to the limit, and
each failure after another one halves it."""


_NONE: dict[str, str] = {}


class LaneState(ABC):
    """One endpoint's lane as it stands; what it sends and what comes back is told elsewhere.

    Ten thousand of them are to be awake at a time: hence the slots, here and in its parts.
    """

    __slots__ = (
        *("_budget", "_failed_at", "_fifo_from", "_sent_at", "_took", "added", "apart"),
        *(
            "came_back",
            "context",
            "doubts",
            "dozing",
            "ended",
            "endpoint",
            "failing",
            "gate",
            "held",
        ),
        *("group", "hungry", "in_flight", "left", "most", "number", "origin", "config"),
        *("rate", "record", "buffer", "tenant", "tenant_rate", "trust", "unsettled", "version"),
        "wake_at",
    )

    def __init__(  # noqa: PLR0913  what a lane stands between
        self,
        row: LaneRow,
        config: LaneConfig,
        *,
        context: Context,
        held: OwnedShard,
        group: "Origin",
        tenant_rate: TenantRate,
    ) -> None:
        now = context.now()
        self.context, self.held, self.tenant_rate = context, held, tenant_rate
        self.group = group
        """The lanes of its application at its origin."""
        self.origin = group.in_charge
        """The level of its origin that it goes by while that is shared: its group, or the whole."""
        self.number, self.tenant = row.lane, intern(row.endpoint.application)
        self.added, self.ended, self.version = row.added, row.ended, row.version
        self.in_flight = self.unsettled = 0
        self.trust = TRUST
        self.failing, self._failed_at = 0, LONG_AGO
        self._took = 0.0
        self.record = EndpointRecord(row, context.parking, context.note, epoch=self.epoch)
        moved = self.record.moved(config.origin)
        pace = pace_text.read(b"" if moved else row.known.pace, now=now)
        self.gate = Gate(pace, context.draw)
        self.buffer = Buffer(row.lane, context.buffered, fifo=row.endpoint.fifo)
        self.doubts = Doubts()
        self.came_back = self.gate.phase is Phase.PACED
        self.hungry = self.left = self.dozing = self.apart = False
        self._budget = budget.Budget()
        self._sent_at = LONG_AGO
        self.wake_at = math.inf
        # An owner that was lost may have left an attempt on its way.
        self._fifo_from = LONG_AGO if held.lease.clean else now + config.timeout
        self.rate = UNLIMITED
        self.dress(row.endpoint, config)
        failures = 0 if moved or self.gate.phase is not Phase.CLOSED else row.known.failures
        if self.origin.shared:
            self.join(now)  # as when it was here while its origin opened
        elif failures >= RULE.failures:
            self.gate.open(now, max(1, self.waiting()))
        elif failures:
            self.failing = failures
            self.gate.failed_before(failures)
        if self.gate.phase is Phase.PACED:
            context.tick(self)

    def dress(self, endpoint: Endpoint, config: LaneConfig) -> None:
        """Take up an endpoint's settings, at first or after a change."""
        # What is sealed in it has been opened, and the rest is its owner's: it need not be kept.
        self.endpoint = replace(
            endpoint,
            application=self.tenant,
            secrets=(),
            headers=None,
            metadata=_NONE,
            description="",
            created_at=0.0,
            updated_at=0.0,
        )
        self.config = config
        if endpoint.rate is None:
            self.rate = UNLIMITED
        else:
            self.rate = Spacing() if self.rate is UNLIMITED else self.rate
            self.rate.limit(endpoint.rate)
        ceiling = self.context.limits.lane_in_flight
        self.most = 1 if endpoint.fifo else min(endpoint.concurrency or ceiling, ceiling)
        self.buffer.fifo = endpoint.fifo
        if self.record.moved(config.origin):
            self.gate.close(forget=True)
            self.doubts.begin_anew()
            self.failing, self.trust = 0, TRUST
            self.save(self.context.now())

    def join(self, now: float) -> None:
        """Leave the pace to its origin, and say so if it had one of its own."""
        was, self.apart = self.gate.phase, False
        self.gate.close()
        if was is not Phase.CLOSED:
            self.save(now)

    def waiting(self) -> int:
        """How many deliveries wait, those in the air left out."""
        return max(0, self.added - self.ended - self.in_flight)

    def pressing(self) -> int:
        """The same, or 0 if all of them wait for times of their own: those need no pace."""
        unread = self.hungry or self.came_back
        ordered = self.endpoint.fifo  # all of them wait for the first one's time
        return 0 if self.buffer.idle() and not unread and not ordered else self.waiting()

    @property
    def epoch(self) -> int:
        """The epoch of the lease that it was taken up under: another lease has another lane."""
        return self.held.lease.epoch

    @property
    def is_well(self) -> bool:
        """Whether nothing failed since the endpoint took something, or ever."""
        return self.record.is_well

    def has_failed_since(self, time: float) -> bool:
        """Return whether something failed since then."""
        return self._failed_at >= time

    @property
    def hold_until(self) -> float:
        """Before then its endpoint wants nothing: it said so."""
        return self.gate.pace.held_until

    @property
    def gate_now(self) -> Gate:
        """The gate it goes by: its own, or its origin's while that is in trouble.

        One that is `apart` goes by its own even then: its troubles are others than its origin's.
        """
        shared = self.origin.gate
        return self.gate if shared.phase is Phase.CLOSED or self.apart else shared

    @property
    def at_work(self) -> bool:
        """Whether anything may be sent at all."""
        if self.left or self.held.leaving:
            return False
        return self.endpoint.standing is Standing.ENABLED

    @property
    def quiet(self) -> bool:
        """Whether nothing of it is on its way, or waits to be written down."""
        return not self.in_flight and not self.unsettled

    @abstractmethod
    def pump(self, *, turn: bool = False) -> None:
        """Send what may be sent now; see to it that the rest is looked at when it may."""

    @abstractmethod
    def room(self) -> int:
        """How many rows it makes sense to have at hand."""

    @abstractmethod
    def settled(self, due: Due, made: Settlement | Resent, *, done: bool) -> None:
        """A settlement was written down, or was not because something else had happened."""

    @abstractmethod
    def tick(self, now: float) -> bool:
        """Look at the answers; whether to look again soon."""

    # --- The endpoint's record ------------------------------------------------------------------

    def look_after(self, now: float) -> None:
        """Warn the endpoint's owner, or park the endpoint, when it is time."""
        self._change(self.record.due(self.endpoint, self.gate.pace, now))

    def save(self, now: float) -> None:
        """Have what is known written down with the next settlements."""
        self._change(self.record.saved(self.gate.pace, now))

    def _stand(self, standing: Standing, why: str, now: float) -> None:
        if self.endpoint.standing is Standing.ENABLED:
            facts: dict[str, str | float | None] = {"why": why}
            self._change(self.record.stood(self.endpoint, standing, self.gate.pace, now, facts))

    def _change(self, change: Change | None) -> None:
        if change is not None and not self.left:
            self.endpoint = stands(self.endpoint, change)
            self.context.change(change)

"""One endpoint's lane: its parts, and the methods that others may call.

Nothing in a lane waits. Other parts pass it rows, answers and settlements, and each time the lane
sends what it may. `service/explain.py` finds out from the store why a delivery waits.

A delivery passes through these files:

1. `sending.py` checks whether a delivery may go: the gate (`LaneGates`), the lane's own limits
   (`Allowance`), rows at hand (`Backlog`), the application's rate and the slots of the process.
2. `answers.py` judges the answer, reports it to the gate, the origin and the endpoint's record, and
   hands in the outcome to be written. Once it was written, the delivery has ended, or goes again.

`phases.py` has what happens when the gate changes its phase.
"""

import math
from sys import intern
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tarry.core.pace import Phase
from tarry.core.probe_rule import ProbeRule
from tarry.service.dispatch.clock import LONG_AGO
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane.allowance import Allowance, LaneGates
from tarry.service.dispatch.lane.attempt import LaneConfig, PendingAttempt
from tarry.service.dispatch.lane.backlog import Backlog
from tarry.service.dispatch.lane.endpoint_record import EndpointRecord, with_standing
from tarry.service.dispatch.limits.gate import RULE, Gate, read_pace
from tarry.service.dispatch.limits.shared import TenantRate
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.outcomes.blame import LaneBlame
from tarry.service.dispatch.ownership.held_lease import HeldLease
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.endpoint import ENABLED, Endpoint, Standing
from tarry.service.model.lane import Change, Due, LaneRow
from tarry.service.wire.exchange import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tarry.service.dispatch.work import Work

_NONE: dict[str, str] = {}


class Driver(Struct, frozen=True):
    """The functions of other files that drive a lane, the same for all lanes. See `DRIVER`."""

    pump: "Callable[[Lane], None]"
    take_turn: "Callable[[Lane], None]"
    answered: "Callable[[Lane, PendingAttempt, Answer], None]"
    tick: "Callable[[Lane, float], bool]"
    share_gate: "Callable[[Lane, float], None]"
    origin_changed: "Callable[[Lane, Phase, float], None]"
    open_alone: "Callable[[Lane, float, float | None, float | None], None]"
    release: "Callable[[Lane, float], None]"


class Lane:
    """One endpoint's lane, owned by this process as long as it owns the lane's shard.

    Ten thousand of them may be in memory at a time: hence the slots, here and in its parts.
    """

    __slots__ = (
        *("_driver", "_refused", "_stopped_at", "allowance", "backlog", "blame", "config"),
        *("context", "endpoint", "environment", "gates", "has_left", "held", "number", "record"),
        *("tenant", "tenant_rate", "unsettled", "version", "wake_at", "work"),
    )

    def __init__(  # noqa: PLR0913  the parts that a lane connects
        self,
        row: LaneRow,
        config: LaneConfig,
        *,
        context: Context,
        work: "Work[Lane]",
        held: HeldLease,
        group: Origin,
        tenant_rate: TenantRate,
        driver: Driver,
    ) -> None:
        now = context.now()
        self.context, self.work, self.held, self.tenant_rate = context, work, held, tenant_rate
        self._driver = driver
        self.number, self.tenant = row.lane, intern(row.endpoint.application)
        self.environment = intern(row.application.environment)
        self.version = row.version
        self.unsettled = self._refused = 0
        self._stopped_at = -1
        """The version of the endpoint at which this worker stopped it: see `change`."""
        self.has_left = False
        self.wake_at = math.inf
        self.record = EndpointRecord(row, context.parking, context.note, epoch=self.epoch)
        moved = self.record.set_origin(config.origin)
        pace = read_pace(b"" if moved else row.known.pace, now=now)
        self.gates = LaneGates(Gate(pace, context.draw), group)
        self.backlog = Backlog(row, context.buffered)
        self.blame = LaneBlame()
        # A lost owner may have had an attempt in flight when this worker took the lease.
        lost = not held.lease.clean
        self.allowance = Allowance(held.since + config.timeout if lost else LONG_AGO)
        self.endpoint, self.config = row.endpoint, config
        self._fit(row.endpoint, config)
        self._take_over(0 if moved else row.known.failures, now)

    def _take_over(self, failures: int, now: float) -> None:
        """Go on where the last owner of the lane stopped."""
        own = self.gates.own
        if own.phase is Phase.PACED:
            self.backlog.mark_fresh()
        if self.gates.shared.phase is not Phase.CLOSED:
            self.join_origin(now)  # like a lane that was in memory when its origin opened
        elif own.phase is Phase.CLOSED and failures >= RULE.failures:
            own.open(now, max(1, self.waiting()))
        elif own.phase is Phase.CLOSED and failures:
            self.allowance.take_over_failures(failures)
            own.take_over_failures(failures)
        if own.phase is Phase.PACED:
            self.work.tick(self)

    # --- What it is -----------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The epoch of the lease that it was loaded under: a new lease means a new lane object."""
        return self.held.lease.epoch

    @property
    def in_flight(self) -> int:
        """How many requests are in flight."""
        return self.allowance.in_flight

    @property
    def gate(self) -> Gate:
        """The lane's own gate, even if its origin's gate decides at present."""
        return self.gates.own

    @property
    def uses_own_gate(self) -> bool:
        """Whether it uses its own gate although its origin is in trouble."""
        return self.gates.uses_own_gate

    @property
    def probe_rule(self) -> ProbeRule:
        """How its probes become fewer while the endpoint stays down."""
        return self.config.policy.probe

    @property
    def refusals(self) -> int:
        """How many attempts were refused since the last success."""
        return self.blame.refusals

    @property
    def is_healthy(self) -> bool:
        """Whether no attempt failed since the endpoint accepted a delivery, or ever."""
        return self.record.is_healthy

    @property
    def is_quiet(self) -> bool:
        """Whether no request is in flight and no outcome waits to be written.

        An outcome that the store refuses in every form does not count: it may never be written.
        """
        return not self.allowance.in_flight and self.unsettled == self._refused

    @property
    def is_at_work(self) -> bool:
        """Whether the lane may send at all."""
        if self.has_left or self.held.is_leaving:
            return False
        return self.endpoint.standing is ENABLED

    def waiting(self) -> int:
        """Return how many deliveries wait, without those in flight."""
        return self.backlog.waiting(self.allowance.in_flight)

    def waits_for_last_owner(self, now: float) -> bool:
        """Return whether a lost owner may still have a request of this ordered lane in flight."""
        return self.endpoint.fifo and self.allowance.fifo_from > now

    def hangs(self, now: float) -> bool:
        """Return whether requests are in flight and none was answered for a long time."""
        return self.allowance.hangs(now)

    def has_failed_since(self, time: float) -> bool:
        """Return whether an attempt failed since then."""
        return self.allowance.has_failed_since(time)

    def may_leave(self, now: float) -> bool:
        """Return whether the lane may leave memory: no work, no limit in use, no pace to keep."""
        free_at = max(self.allowance.rate.free_at(now), self.gates.own.pace.held_until)
        done = self.is_quiet and not self.backlog.asking and self.backlog.buffer.drained()
        if done and free_at > now:
            self.context.alarms.set(self, free_at)
        return done and free_at <= now and self.gates.own.phase is not Phase.PACED

    # --- Changes from outside -------------------------------------------------------------------

    def change(self, row: LaneRow, config: LaneConfig, tenant_rate: TenantRate) -> None:
        """Apply changes of the endpoint, its policy, or its deliveries.

        If this worker stopped the endpoint, a row that was read before that was written does not
        enable it again.
        """
        is_old = row.version <= self._stopped_at
        standing = self.endpoint.standing if is_old else row.endpoint.standing
        self._fit(replace(row.endpoint, standing=standing), config)
        self.gates.group.gate_level.add_probe_rule(self.probe_rule)
        self.version, self.tenant_rate = row.version, tenant_rate
        self.backlog.reload(row)

    def move(self, group: Origin) -> None:
        """Belong to another origin from now on."""
        self.gates.group.move_away(self)
        self.gates.move(group)
        group.join(self)

    def _fit(self, endpoint: Endpoint, config: LaneConfig) -> None:
        """Apply an endpoint's settings."""
        # Fields that a lane does not need are dropped: the sealed ones are opened in the config.
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
        self.gates.own.set_probes(config.policy.probe, self.context.now())
        ceiling = self.context.limits.lane_in_flight
        most = 1 if endpoint.fifo else min(endpoint.concurrency or ceiling, ceiling)
        self.allowance.limit(most, endpoint.rate)
        self.backlog.buffer.set_order(fifo=endpoint.fifo)
        if self.record.set_origin(config.origin):
            self.gates.own.close(forget=True)
            self.blame.start_over()
            self.allowance.start_over()
            self.save(self.context.now())

    def start_over(self) -> None:
        """Forget the rows in memory, and read everything again: the store may have lost commits."""
        self._stopped_at = -1
        self.backlog.start_over()
        self.pump()

    def expired(self, number: int) -> None:
        """Count deliveries that ended because they were too old."""
        self.backlog.count_ended(number)
        self.backlog.buffer.forget_rows()
        self.pump()

    def leave(self) -> None:
        """Stop: another worker owns the lane now, or it is at rest. Later answers do not count."""
        self.has_left = True
        self.context.alarms.set(self, math.inf)
        self.backlog.buffer.forget_rows()
        self.work.forget(self)
        self.context.slots.forget(self)
        self.context.unwritten.forget(self)
        self.gates.group.leave(self)
        self.gates.use_shared_gate()
        self.tenant_rate.leave(self)

    # --- Sending --------------------------------------------------------------------------------

    def set_alarm(self, at: float) -> None:
        """Remember when it will be woken."""
        self.wake_at = at

    def pump(self) -> None:
        """Send what may be sent now."""
        self._driver.pump(self)

    def take_turn(self) -> None:
        """Send one delivery: it is its turn at the shared gate."""
        self._driver.take_turn(self)

    def answered(self, pending: PendingAttempt, answer: Answer) -> None:
        """Process the answer to an attempt."""
        self._driver.answered(self, pending, answer)

    def ask_for_rows(self) -> None:
        """Have rows read for this lane."""
        self.backlog.ask()
        self.work.request_rows(self)

    def begin_outcome(self) -> None:
        """Count an outcome that is being decided: an ordered lane sends nothing meanwhile."""
        self.unsettled += 1

    def hand_in(self, due: Due, outcome: Settlement | Resent) -> None:
        """Have an outcome written that `begin_outcome` has counted."""
        self.work.finish(self, due, outcome)

    def finish(self, due: Due, outcome: Settlement | Resent) -> None:
        """Count the outcome of a delivery that was not sent, and have it written."""
        self.context.unwritten.take_anyway(self)
        self.begin_outcome()
        self.hand_in(due, outcome)

    def set_aside(self) -> None:
        """Count an outcome that the store refuses in every form: it is handed in again later."""
        self._refused += 1

    def count_handed_in_again(self) -> None:
        """Count an outcome that is handed in again."""
        self._refused -= 1

    def count_written(self) -> None:
        """Count an outcome that was written."""
        self.context.unwritten.give_back(self)
        self.unsettled -= 1

    # --- Phases of its gate: see `phases.py` -----------------------------------------------------

    def tick(self, now: float) -> bool:
        """Evaluate the answers; return whether to call this again at the next tick."""
        return self._driver.tick(self, now)

    def share_gate(self, now: float) -> None:
        """Use the gate of the origin, which is in trouble."""
        self._driver.share_gate(self, now)

    def origin_changed(self, phase: Phase, now: float) -> None:
        """React to a new phase of its origin's gate."""
        self._driver.origin_changed(self, phase, now)

    def open_alone(
        self, now: float, capacity: float | None = None, since: float | None = None
    ) -> None:
        """Open its own gate: the trouble is this lane's, not its origin's."""
        self._driver.open_alone(self, now, capacity, since)

    def release(self, now: float) -> None:
        """Use its own gate again, although deliveries may wait."""
        self._driver.release(self, now)

    def join_origin(self, now: float) -> None:
        """Leave the pace to its origin, and save that if the lane had a pace of its own."""
        if self.gates.join():
            self.save(now)

    # --- The endpoint's record ------------------------------------------------------------------

    def warn_or_park(self, now: float) -> None:
        """Warn the endpoint's owner, or park the endpoint, when it is time."""
        self.write(self.record.warn_or_park(self.endpoint, self.gates.own.pace, now))

    def save(self, now: float) -> None:
        """Have what is known of the endpoint written with the next settlements."""
        self.write(self.record.save(self.gates.own.pace, now))

    def set_standing(self, standing: Standing, why: str, now: float) -> None:
        """Pause or disable the endpoint, and notify its owner why."""
        if self.endpoint.standing is Standing.ENABLED:
            facts: dict[str, str | float | None] = {"why": why}
            pace = self.gates.own.pace
            self.write(self.record.change_standing(self.endpoint, standing, pace, now, facts))

    def write(self, change: Change | None) -> None:
        """Have a change of the endpoint's record written, if there is one."""
        if change is not None and not self.has_left:
            self.endpoint = with_standing(self.endpoint, change)
            if change.standing is not None:
                self._stopped_at = self.version
                operation = f"endpoint.{change.standing}"
                by = self.context.action(self.environment, operation, change.at)
                change = replace(change, by=by)
            self.work.change(self, change)

"""An origin (scheme, host and port): the gates that its lanes share while they fail together.

There are two levels. A *group* has the lanes of one application at the origin. The *whole* has the
groups of all applications there. Healthy lanes share nothing.

- A group opens when several lanes of its application fail and none passes. A dead gateway with
  2,000 endpoints is then probed as one, and recovers as one. Other applications do not notice.
- The whole opens when lanes of several applications fail and none of any application passes, or
  when attempts cannot connect. All lanes of the origin then use the whole's gate, and the gates of
  the groups are closed.

A refusal (a revoked token, a missing page) counts against its own endpoint until several endpoints
are refused. An application that keeps failing while others pass leaves the whole: it uses the gate
of its group again.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from sys import intern
from typing import Any

from tarry.core.pace import CLOSED, Pace, Phase, Sample
from tarry.core.probe_rule import ProbeRule
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.limits.gate import RULE, Gate
from tarry.service.dispatch.origins.evidence import Evidence, Failures
from tarry.service.dispatch.origins.member import Member
from tarry.service.dispatch.origins.shared_record import SharedRecord
from tarry.service.dispatch.origins.turn_queue import TurnQueue
from tarry.service.dispatch.sparse import EMPTY_DICT, put_one, without_one
from tarry.service.dispatch.work import Work
from tarry.service.model.origin import group_name

log = logging.getLogger("tarry.service")

HELD_FOR_ALL = 60.0
"""For how many seconds 429s to several applications hold up others at the same host, at most."""
_HEALTHY = Gate(Pace(), float)
"""The shared gate of all origins that were never in trouble: no lane uses it."""


class Origin:
    """One level of an origin: a group if it has an `application`, else the whole.

    Most origins have one lane, so a group is kept small. A whole exists only if several
    applications have lanes at the origin, or if one of them could not connect.
    """

    __slots__ = (
        *("_context", "_counted", "_make_whole", "_queue", "_work", "application", "evidence"),
        *("gate", "gate_level", "groups", "is_changed", "lanes", "place", "record"),
        *("uses_own_gate", "whole"),
    )

    def __init__(  # noqa: PLR0913  the parts that an origin connects
        self,
        place: str,
        application: str,
        context: Context,
        work: Work[Any],
        *,
        pace: Pace,
        make_whole: "Callable[[Origin], Origin]",
        record: SharedRecord | None = None,
    ) -> None:
        self.place = place
        self.application = intern(application)  # the same text as that of its lanes
        self._context, self._work = context, work
        self.gate = _HEALTHY if pace == Pace() else Gate(pace, context.draw)
        self.lanes: Mapping[int, Member] = EMPTY_DICT
        """The lanes of a group, mostly one."""
        self.groups: dict[str, Origin] = EMPTY_DICT if application else {}
        """The groups of a whole, by application."""
        self.whole: Origin | None = None
        """The whole of a group, if there is one."""
        self.gate_level = self
        """The level whose gate the lanes of this group share: the group itself or its whole."""
        self.record = record
        """The record of a whole, which all workers share. A group's lanes are all at this worker.
        """
        self._make_whole = make_whole
        self.uses_own_gate = False
        """Whether this group uses its own gate although its whole is shared."""
        self.is_changed = False
        """Whether its record in the store has to be written."""
        self._queue: TurnQueue | None = None
        self._counted = (0.0, 0)
        """When the waiting deliveries of this worker were counted, and their number."""
        self.evidence = Evidence(of_group=bool(application), now=context.now())
        if self.shared:
            work.tick(self)

    @property
    def name(self) -> str:
        """The name of its record in the store."""
        return group_name(self.place, self.application) if self.application else self.place

    @property
    def shared(self) -> bool:
        """Whether its lanes use its gate and not their own."""
        return self.gate.phase is not CLOSED

    def group_of(self, lane: Member) -> "Origin":
        """Return the group that a lane of this level belongs to."""
        return self if self.application else self.groups[lane.tenant]

    def waiting(self) -> int:
        """Return how many deliveries wait for it at all workers, without those in flight."""
        return self.waiting_here() + (self.record.waiting_elsewhere if self.record else 0)

    def waiting_here(self) -> int:
        """Return how many deliveries wait for it at this worker.

        While only probes go there, they are counted once a second: it may have thousands of lanes.
        """
        now = self._context.now()
        counted_at, waiting = self._counted
        if self.gate.phase is Phase.OPEN and now < counted_at + 1:
            return waiting
        waiting = sum(
            lane.waiting() for lane in self._lanes() if not lane.uses_own_gate and lane.is_at_work
        )
        self._counted = (now, waiting)
        return waiting

    def _lanes(self) -> Iterator[Member]:
        """Return the lanes that use this gate while it is shared."""
        yield from self.lanes.values()
        for group in self.groups.values():
            if not group.uses_own_gate:
                yield from group.lanes.values()

    # --- Its lanes and groups -------------------------------------------------------------------

    def join(self, lane: Member) -> None:
        """Take a lane into this group."""
        self.lanes = put_one(self.lanes, lane.number, lane)
        self.gate_level.add_probe_rule(lane.probe_rule)

    def leave(self, lane: Member) -> None:
        """Forget a lane of this group that moved to another origin, or to another worker.

        It may be back already, as another object: that one stays.
        """
        if self.lanes.get(lane.number) is lane:
            self.lanes = without_one(self.lanes, lane.number)
        self.gate_level.discard(lane)

    def move_away(self, lane: Member) -> None:
        """Forget a lane of this group that moved to another origin.

        A probe that it has in flight does not count here. So the time of the next one is written
        now, for `explain`.
        """
        self.leave(lane)
        if lane.in_flight and self.gate_level.shared:
            self.gate_level.mark_changed()

    def discard(self, lane: Member) -> None:
        """Remove a lane from the queue."""
        if self._queue is not None:
            self._queue.discard(lane)

    def adopt(self, group: "Origin") -> None:
        """Take a group into this whole."""
        self.groups[group.application] = group
        group.belong_to(self)
        if self.shared:
            self._take_over([group], self._context.now())

    def disown(self, group: "Origin") -> None:
        """Forget a group of this whole."""
        del self.groups[group.application]
        group.belong_to(None)

    def belong_to(self, whole: "Origin | None") -> None:
        """Be a group of this whole from now on, or of none."""
        self.whole = whole
        self.gate_level = self

    # --- Whose turn it is -----------------------------------------------------------------------

    def queue(self, lane: Member) -> None:
        """Let a lane send when its turn comes."""
        if self._queue is None:
            self._queue = TurnQueue(self.gate, self._context, self._may_probe)
        paced = self.gate.phase is Phase.PACED
        comes_first = self._is_past_doubt if paced else self._is_promising
        self._queue.add(lane, first=comes_first(lane))

    def _is_promising(self, lane: Member) -> bool:
        """Return whether to probe a lane before others: it did not fail since its last success.

        While the origin refuses several lanes, a lane that was not refused yet goes first as well.
        A lane with a probe in flight does not: another one would say the same.
        """
        is_new = self.evidence.refuses_all and not lane.refusals
        return not lane.in_flight and (lane.is_healthy or is_new)

    def _is_past_doubt(self, lane: Member) -> bool:
        """Return whether a lane drains at the pace without doubt.

        At a whole, its application must have passed since the pace began.
        """
        if self.application or lane.is_healthy:
            return True
        begun = self.gate.pace.begun
        passed = self.group_of(lane).evidence.has_passed_since(begun)
        return passed and not lane.has_failed_since(begun)

    def serve(self) -> None:
        """Let lanes send in turns, as far as the gate allows."""
        if self._queue is not None:
            self._queue.serve()

    def probe_again(self, now: float, *, refused: bool, before: Failures) -> None:
        """Send the next probe at once if the last one says little about the other lanes.

        A refusal may concern one endpoint, and any answer at a whole may concern one application.
        """
        queue, evidence = self._queue, self.evidence
        if queue is None:
            return
        if refused:
            news = evidence.is_new_refusal and not evidence.refuses_all
            asks = news and queue.has_lanes_but(evidence.refused)
        else:
            news = not self.application and evidence.failures.is_first_of_application(before)
            asks = news and queue.has_applications_but(evidence.failures.answered)
        if asks:
            queue.probe_again(now)
        else:
            queue.make_up()

    # --- What its lanes saw ---------------------------------------------------------------------

    @property
    def levels(self) -> "tuple[Origin, ...]":
        """This group, and its whole if there is one."""
        return (self,) if self.whole is None else (self, self.whole)

    def add_success(self, failures: int) -> None:
        """Count a success of a closed lane, and its failures just before, at both levels."""
        for level in self.levels:
            level.evidence.add_success(failures)

    @property
    def history(self) -> Sample:
        """The latest answers at this origin, for lanes that have few of their own."""
        return self.levels[-1].evidence.history

    def open_whole(self, now: float) -> bool:
        """Make and open the whole if this group cannot connect and there is no whole yet."""
        alone = self.whole is None and self.application
        if not alone or not self.evidence.cannot_connect(now):
            return False
        self._make_whole(self).open(now)
        return True

    def reached(self) -> None:
        """Note at both levels that a lane of this group got an answer, even if it is a failure."""
        for level in self.levels:
            level.evidence.reached()

    def passed(self, now: float) -> None:
        """Drop the evidence at both levels: a lane of this group passed."""
        for level in self.levels:
            level.drop_evidence(now)

    def drop_evidence(self, now: float) -> None:
        """Drop the evidence of failures and holds at this level: an attempt passed."""
        evidence = self.evidence
        evidence.passed(now, self._refused_before() if evidence.refused else ())
        if self.gate.pace.held_until:
            self.gate.hold(0.0)
            self.mark_changed()

    def _refused_before(self) -> Iterable[int]:
        """Return the lanes that were refused: if others pass, the refusals are their own."""
        if self.gate.phase is not Phase.OPEN:
            return self.evidence.refused
        # Also those refused before the gate opened; they may be many, but this is rare.
        return [lane.number for lane in self._lanes() if lane.refusals]

    def held(self, lane: Member, until: float, now: float) -> None:
        """Note that a 429 asked a lane of this group to wait.

        If several lanes were asked, all lanes of the group wait. If several applications were, all
        wait, but not for long: each lane that was asked waits by itself, and no application decides
        for how long another one does.
        """
        self.hold(lane.number, until, now)
        if self.whole is not None:
            self.whole.hold(lane.tenant, min(until, now + HELD_FOR_ALL), now)

    def hold(self, who: int | str, until: float, now: float) -> None:
        """Remember which lane or application has to wait, and hold the gate if several have to."""
        all_until = self.evidence.hold(who, until, now)
        if all_until is not None:
            self._ensure_gate()
            self.gate.hold(max(self.gate.pace.held_until, all_until))
            self.mark_changed()  # for `explain`

    # --- Changes of its gate --------------------------------------------------------------------

    def open(self, now: float, capacity: float | None = None, since: float | None = None) -> None:
        """Open this gate, and have all lanes of this level use it."""
        self._ensure_gate()
        # The lanes have few rules, since most have the policy of their application.
        self._set_probes({lane.probe_rule for lane in self._lanes()} or {RULE.probe})
        self.gate.open(now, max(1, self.waiting()), capacity, since)
        self._phase_entered()
        self.evidence.gate_opened()
        self._share(now)

    def add_probe_rule(self, rule: ProbeRule) -> None:
        """Take over the `[probe]` of a lane while only probes are sent, if it asks for more."""
        if self.gate.phase is Phase.OPEN:
            is_only_lane = len(list(islice(self._lanes(), 2))) == 1
            rules = {rule} if is_only_lane else {rule, self.gate.rule.probe}
            self._set_probes(rules)

    def _set_probes(self, rules: "Iterable[ProbeRule]") -> None:
        """Probe by the rule that finds out the soonest whether the origin is back."""
        soonest = min(rules, key=lambda rule: (rule.at_most, rule.late, rule.late_large))
        self.gate.set_probes(soonest, self._context.now())

    def _share(self, now: float) -> None:
        """Have all lanes use this gate, which is open."""
        self._take_over(self.groups.values(), now)
        for lane in list(self.lanes.values()):
            lane.share_gate(now)

    def _take_over(self, groups: "Iterable[Origin]", now: float) -> None:
        """Have the lanes of these groups use this gate, and close the groups' own gates."""
        for group in list(groups):
            group.use_gate_of(self)
            for lane in list(group.lanes.values()):
                lane.share_gate(now)

    def use_gate_of(self, whole: "Origin") -> None:
        """Have the lanes of this group use the gate of its whole."""
        self.gate_level, self.uses_own_gate = whole, False
        self.evidence.reset_failures()
        self._close_queue()
        if self.shared:
            self.gate.close()
            self.mark_changed()

    def tick(self, now: float) -> bool:
        """Evaluate the answers; return whether to call this again at the next tick."""
        # While it is open, the number of waiting deliveries does not matter.
        if self.gate.step(now, 1 if self.gate.phase is Phase.OPEN else self.waiting_here()):
            self._phase_changed(now)
        elif self.gate.phase is Phase.OPEN:
            self.mark_changed()  # a probe failed: `explain` reads the time of the next one
        if self.gate.phase is Phase.PACED:
            hanging = (lane for lane in self._lanes() if lane.hangs(now))
            self.gate.set_hanging(sum(lane.in_flight - lane.gate.in_flight for lane in hanging))
        self.serve()
        return self.gate.needs_tick(now)

    def _phase_changed(self, now: float) -> None:
        """Tell the lanes that the gate is in another phase."""
        phase = self.gate.phase
        if phase is Phase.OPEN and not self.evidence.is_common:
            if not self.open_whole(now):
                self._disband(now)
            return
        lanes = list(self._lanes())
        self._phase_entered()
        for group in self.groups.values():
            group.whole_changed(phase, now)
        if phase is Phase.OPEN:
            self._share(now)
            return
        if phase is Phase.CLOSED:
            self.evidence.assume_success(now)
            self._close_queue()
        for lane in lanes:
            lane.origin_changed(phase, now)
        if self.gate.needs_tick(now):
            self._work.tick(self)

    def whole_changed(self, phase: Phase, now: float) -> None:
        """React to a new phase of the whole that this group belongs to."""
        self.evidence.reset_failures()
        if phase is Phase.CLOSED:
            self.uses_own_gate = False
            self.evidence.assume_success(now)
            self.gate_level = self

    def _disband(self, now: float) -> None:
        """Close this gate: too few lanes fail. Those stay open on their own."""
        capacity, failing = self.gate.pace.capacity, self.evidence.failures.lanes
        self.gate.close()
        self._phase_entered()
        self._close_queue()
        self._release(failing, now, capacity)
        for group in list(self.groups.values()):
            group.whole_disbanded(now, capacity)

    def let_group_use_own_gate(self, group: "Origin", now: float) -> None:
        """Let a group of this whole use its own gate: it fails alone."""
        log.info("the lanes of %s to %s fail alone", group.application, self.place)
        for lane in group.lanes.values():
            self.discard(lane)
        # It counts as down since before others passed, and so is no evidence against the whole.
        group.use_own_gate(now, self.gate.pace.capacity, self.evidence.passed_at)

    def whole_disbanded(self, now: float, capacity: float | None) -> None:
        """Use the gate of this group again: its whole is not shared any more."""
        if self.uses_own_gate:
            self.uses_own_gate = False
        else:
            self._take_lanes_back(now, capacity)

    def use_own_gate(self, now: float, capacity: float | None, since: float) -> None:
        """Use the gate of this group: it fails alone, since before others passed."""
        self.uses_own_gate = True
        self._take_lanes_back(now, capacity, since)

    def _take_lanes_back(
        self, now: float, capacity: float | None = None, since: float | None = None
    ) -> None:
        """Have the lanes use the gate of this group again, or their own; failing ones open."""
        self.gate_level = self
        failures = self.evidence.failures
        if failures.of_several_lanes:
            self.open(now, capacity, since)
        else:
            self._release(failures.lanes, now, capacity, since)

    def _release(
        self,
        failing: frozenset[int],
        now: float,
        capacity: float | None = None,
        since: float | None = None,
    ) -> None:
        """Have the lanes of this group use their own gates; failing ones open."""
        self.evidence.assume_success(now)
        for lane in list(self.lanes.values()):
            if lane.number in failing and not lane.uses_own_gate:
                lane.open_alone(now, capacity, since)
            else:
                lane.release(now)

    def _phase_entered(self) -> None:
        """Log and record the new phase, and count failures from here on."""
        self.evidence.reset_failures()
        if self.record is not None:
            self.record.scale_gate_to_share(self.gate, self.waiting_here())
        if self._queue is not None:
            self._queue.phase_changed()
        lanes = sum(1 for _ in self._lanes())
        if lanes:  # none are left once the dispatcher was told to stop
            text = "all %d lanes to %s are %s; %d wait"
            log.info(text, lanes, self.name, self.gate.phase, self.waiting_here())
        self.mark_changed()

    # --- What other workers know ----------------------------------------------------------------

    @property
    def wants_probe(self) -> bool:
        """Whether the next write of the record has to claim a probe."""
        return self.record is not None and self.record.wants_probe

    @property
    def has_lanes(self) -> bool:
        """Whether lanes of this worker belong to this whole."""
        return any(group.lanes for group in self.groups.values())

    def _may_probe(self, *, first: bool) -> bool:
        """Return whether this worker may probe now; a group's lanes are all at this worker."""
        record = self.record
        return record is None or record.may_probe(self.gate.pace, first=first, serve=self.serve)

    def follow_probe(self, pace: Pace) -> None:
        """Take over the time of the next probe from another worker, whose gate is open too."""
        self.gate.follow(pace)
        if self._queue is not None:
            self._queue.overtaken()
        self.serve()

    def passed_elsewhere(self, pace: Pace, now: float) -> None:
        """Change to a pace: a probe of another worker passed."""
        self.drop_evidence(now)
        self.gate.passed_elsewhere(pace, now)
        self.tick(now)

    def _close_queue(self) -> None:
        """Close and drop the queue of lanes that take turns as probes, if there is one."""
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    def mark_changed(self) -> None:
        """Have the record in the store updated."""
        self.is_changed = True
        self._work.write_origins()

    def mark_saved(self) -> None:
        """Mark the record in the store as up to date."""
        self.is_changed = False

    def _ensure_gate(self) -> None:
        """Get a gate of its own in place of the one that healthy origins share."""
        if self.gate is _HEALTHY:
            self.gate = Gate(Pace(), self._context.draw)

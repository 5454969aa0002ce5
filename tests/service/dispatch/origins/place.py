"""An origin of both levels. A test moves its clock, and says what its lanes send and receive."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from tarry.core.pace import Pace, Phase
from tarry.core.probe_rule import ProbeRule
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.limits.gate import RULE, Gate
from tarry.service.dispatch.origins.answers import count_failure, count_refusal, evaluate_answer
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.origins.shared_record import SharedRecord
from tarry.service.dispatch.outcomes.judge import Judgement, Verdict
from tarry.service.dispatch.work import Signals, Work
from tarry.service.model.settings import Limits, Parking
from tarry.testing.samples import NOON
from tests.service.dispatch.test_context import Nobody

if TYPE_CHECKING:
    from tarry.service.dispatch.origins.member import Member

AT = "https://gw.example:443"
OPEN = Pace(phase=Phase.OPEN, rate=0.0, epoch=1, down_since=NOON - 600, probe_at=NOON + 30)
WELL = Pace()
PACED = Pace(phase=Phase.PACED, rate=50.0, epoch=2, begun=NOON, capacity=80.0)
TAKEN = Judgement(Verdict.ACCEPTED)
FAILED = Judgement(Verdict.FAILED)
REFUSED = Judgement(Verdict.REFUSED)
UNREACHABLE = Judgement(Verdict.FAILED, unreachable=True)


class FakeTimer:
    """A call at a time, unless it is cancelled before."""

    def __init__(self, at: float, then: Callable[[], None]) -> None:
        self.at, self.then = at, then

    def cancel(self) -> None:
        self.at = math.inf


class Place:
    """The levels of one origin, its lanes, a clock and the numbers of the lanes that sent."""

    def __init__(self) -> None:
        self.now = NOON
        self.timers: list[FakeTimer] = []
        self.signals = Signals()
        self.work: Work[Any] = Work(self.signals)
        self.context = Context(
            now=lambda: self.now,
            wall=lambda now: now,
            later=self.later,
            draw=lambda: 0.5,
            sender=Nobody(),
            limits=Limits(),
            parking=Parking(),
        )
        self.sent: list[int] = []
        self.wholes: list[Origin] = []
        self._lanes = 0

    def later(self, seconds: float, then: Callable[[], None]) -> FakeTimer:
        self.timers.append(FakeTimer(self.now + seconds, then))
        return self.timers[-1]

    def push(self, seconds: float) -> None:
        """Let time pass, and fire the timers that are due."""
        until = self.now + seconds
        while due := [timer for timer in self.timers if timer.at <= until]:
            timer = min(due, key=lambda timer: timer.at)
            self.timers.remove(timer)
            self.now = max(self.now, timer.at)
            timer.then()
        self.now = until

    def level(
        self,
        application: str = "",
        pace: Pace = WELL,
        record: SharedRecord | None = None,
        at: str = AT,
    ) -> Origin:
        return Origin(
            at,
            application,
            self.context,
            self.work,
            pace=pace,
            make_whole=self.make_whole,
            record=record,
        )

    def make_whole(self, *groups: Origin, pace: Pace = WELL) -> Origin:
        whole = self.level(pace=pace)
        for group in groups:
            whole.adopt(group)
        self.wholes.append(whole)
        return whole

    def lanes(self, group: Origin, count: int) -> "list[FakeLane]":
        """Let so many new lanes join a group."""
        first, self._lanes = self._lanes, self._lanes + count
        lanes = [FakeLane(self, group, number) for number in range(first, first + count)]
        for lane in lanes:
            group.join(lane.member)
        return lanes

    def group(self, application: str, count: int, pace: Pace = WELL) -> "GroupAndLanes":
        group = self.level(application, pace)
        return group, self.lanes(group, count)


class FakeLane:
    """As much of a lane as its origin knows. It has one delivery for each turn."""

    def __init__(self, place: Place, group: Origin, number: int) -> None:
        self.place, self.group, self.number, self.tenant = place, group, number, group.application
        self.gate = Gate(Pace(), lambda: 0.5)
        self.probe_rule = ProbeRule()
        self.in_flight = self.refusals = 0
        self.is_healthy, self.is_at_work, self.uses_own_gate = True, True, False
        self.failed_at = -math.inf
        self.is_hanging = False
        self.backlog = 1
        self.wants_more = False
        """Whether it waits for another turn as soon as it has one."""
        self.heard: list[tuple[object, ...]] = []
        """What its origin told it."""

    @property
    def member(self) -> "Member":
        return cast("Member", self)

    def waiting(self) -> int:
        return self.backlog

    def hangs(self, _now: float) -> bool:
        return self.is_hanging

    def has_failed_since(self, time: float) -> bool:
        return self.failed_at >= time

    def take_turn(self) -> None:
        self.place.sent.append(self.number)
        self.in_flight += 1
        self.group.gate_level.gate.sent(self.place.now, 1)
        if self.wants_more:
            self.wait()

    def share_gate(self, _now: float) -> None:
        self.heard.append(("shared",))

    def origin_changed(self, phase: Phase, _now: float) -> None:
        self.heard.append((phase,))

    def open_alone(
        self, _now: float, capacity: float | None = None, since: float | None = None
    ) -> None:
        self.heard.append(("alone", capacity, since))

    def release(self, _now: float) -> None:
        self.heard.append(("released",))

    # --- What the lane does ---------------------------------------------------------------------

    def wait(self) -> None:
        """Wait for a turn at the gate of the origin."""
        self.group.gate_level.queue(self.member)

    def fail(self, times: int = 1, *, unreachable: bool = False) -> None:
        """Fail so many times at a gate of its own."""
        for _ in range(times):
            if not unreachable:
                self.group.reached()
            self.is_healthy = False
            count_failure(self.group, self.member, unreachable=unreachable, now=self.place.now)

    def get(self, judgement: Judgement, *, spared: bool = False) -> None:
        """Receive an answer to a request that it sent through the gate of the origin."""
        level, now = self.group.gate_level, self.place.now
        self.in_flight = max(0, self.in_flight - 1)
        self.is_healthy = judgement.endpoint_works
        if judgement.concerns_endpoint_alone:
            self.refusals += 1
            count_refusal(level, self.member)
        elif judgement.endpoint_works:
            self.refusals = 0
        else:
            self.failed_at = now
        level.gate.answered(
            passed=judgement.endpoint_works,
            failures=0 if judgement.endpoint_works or spared else 1,
            epoch=level.gate.pace.epoch,
            took=0.01,
            asked=None,
            now=now,
        )
        evaluate_answer(level, self.member, judgement, now)

    def send_and_get(self, judgement: Judgement) -> None:
        """Send a request through the gate of the origin and receive its answer at once."""
        self.in_flight += 1
        self.group.gate_level.gate.sent(self.place.now, 1)
        self.get(judgement)


GroupAndLanes = tuple[Origin, list[FakeLane]]


def fail_together(lanes: list[FakeLane], *, unreachable: bool = False) -> None:
    """Let these lanes fail in turns, as often as it takes to open a gate."""
    for number in range(RULE.failures):
        lanes[number % len(lanes)].fail(unreachable=unreachable)


def drain(place: Place, level: Origin, lanes: list[FakeLane]) -> None:
    """Let a paced level send the last of its backlog."""
    for lane in lanes:
        lane.send_and_get(TAKEN)
        lane.backlog = 0
    for _ in range(200):
        place.push(RULE.tick)
        level.tick(place.now)
    assert level.gate.phase is Phase.CLOSED


def overload(place: Place, level: Origin, lanes: list[FakeLane]) -> None:
    """Let these lanes fail at a paced level until it opens or is not shared any more."""
    epoch, turns = level.gate.pace.epoch, 0
    while level.gate.phase is Phase.PACED:
        place.push(1)
        lanes[turns % len(lanes)].send_and_get(FAILED)
        level.tick(place.now)
        turns += 1
        assert turns < 100
    assert level.gate.pace.epoch > epoch

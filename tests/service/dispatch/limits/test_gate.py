"""A gate: when the next send may go, and what answers make of that."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.pace import Pace, Phase, Sample
from tarry.core.pacer import in_a_row
from tarry.core.probe import SHORTEST
from tarry.core.probe_rule import ProbeRule
from tarry.service.dispatch.limits.gate import FEW_ANSWERS, RULE, WATCHED, Gate, scaled
from tarry.testing.samples import NOON

MOST = 256


def a_gate(pace: Pace | None = None) -> Gate:
    return Gate(pace or Pace(), lambda: 0.5)


def answer(  # noqa: PLR0913  what an answer says
    gate: Gate,
    now: float,
    *,
    passed: bool = False,
    failures: int = 1,
    took: float = 0.01,
    epoch: int | None = None,
    asked: float | None = None,
) -> None:
    """One send goes and is answered at once."""
    told = gate.sent(now, 1)
    gate.answered(
        passed=passed,
        failures=0 if passed else failures,
        epoch=told if epoch is None else epoch,
        took=took,
        asked=asked,
        now=now,
    )


def opened(now: float = NOON, waiting: int = 1) -> Gate:
    gate = a_gate()
    gate.open(now, waiting)
    return gate


def ramped(capacity: float | None = None) -> Gate:
    """A gate that is paced since noon: at 20 a second, or half of what it remembers."""
    gate = a_gate(Pace(capacity=capacity))
    gate.ramp(NOON)
    return gate


def test_a_closed_gate_lets_everything_go_at_once_up_to_the_most_in_the_air() -> None:
    gate = a_gate()
    for _ in range(3):
        assert gate.free_at(NOON, 3) == NOON
        gate.sent(NOON, 0)
    assert gate.free_at(NOON, 3) == math.inf
    gate.lost()
    assert gate.free_at(NOON, 3) == NOON


@pytest.mark.parametrize(("failures", "phase"), [(4, Phase.CLOSED), (5, Phase.OPEN)])
def test_failures_in_a_row_open_it(failures: int, phase: Phase) -> None:
    gate = a_gate()
    for _ in range(failures):
        answer(gate, NOON)
    assert gate.step(NOON, 1) is (phase is Phase.OPEN)
    assert gate.phase is phase


def test_an_answer_may_speak_for_several_failures() -> None:
    gate = a_gate()
    answer(gate, NOON, failures=RULE.failures)
    assert gate.step(NOON, 1)
    assert gate.phase is Phase.OPEN


@pytest.mark.parametrize("epoch", [None, -1], ids=["in time", "late"])
def test_a_success_just_before_keeps_it_closed_and_one_of_long_ago_does_not(
    epoch: int | None,
) -> None:
    for pause, phase in ((RULE.silence / 2, Phase.CLOSED), (RULE.silence * 2, Phase.OPEN)):
        gate = a_gate()
        answer(gate, NOON, passed=True, epoch=epoch)
        for _ in range(5):
            answer(gate, NOON + pause)
        gate.step(NOON + pause, 1)
        assert gate.phase is phase


def test_an_answer_that_neither_passed_nor_failed_says_nothing() -> None:
    gate = a_gate()
    for _ in range(20):
        answer(gate, NOON, failures=0, took=99.0)
    assert gate.in_flight == 0
    assert not gate.needs_tick(NOON)
    assert not gate.step(NOON, 1)
    assert gate.pace == Pace()


def test_an_answer_that_does_not_count_asks_for_nothing() -> None:
    gate = opened()
    now = gate.free_at(NOON, MOST)
    gate.sent(now, 1)
    planned = gate.pace.probe_at
    gate.answered(passed=False, failures=0, epoch=gate.pace.epoch, took=0.01, asked=900.0, now=now)
    gate.step(now, 1)
    assert gate.pace.probe_at == planned


def test_a_change_of_phase_is_told_once() -> None:
    gate = a_gate()
    answer(gate, NOON, failures=5)
    assert [gate.step(NOON, 1) for _ in range(3)] == [True, False, False]


def test_a_change_that_was_asked_for_is_not_told() -> None:
    gate = a_gate()
    gate.open(NOON, 1)
    assert not gate.step(NOON, 1)
    gate.close()
    assert not gate.step(NOON, 1)
    gate.ramp(NOON)
    assert not gate.step(NOON, 1)
    assert gate.phase is Phase.PACED


def test_an_open_gate_lets_one_probe_go_when_it_is_time() -> None:
    gate = opened()
    probe_at = gate.free_at(NOON, MOST)
    assert probe_at >= NOON + SHORTEST
    assert gate.free_at(probe_at + 5, MOST) == probe_at + 5
    gate.sent(probe_at, 1)
    assert gate.free_at(probe_at + 500, MOST) == math.inf


def test_a_probe_that_is_asked_for_goes_at_once_and_only_that_one() -> None:
    gate = opened()
    assert gate.free_at(NOON, MOST) > NOON
    gate.bring_probe_forward(NOON + 0.1)
    assert gate.free_at(NOON + 0.1, MOST) == NOON + 0.1
    answer(gate, NOON + 0.1)
    gate.step(NOON + 0.1, 1)
    assert gate.free_at(NOON + 0.1, MOST) > NOON + 0.1


def test_a_probe_that_was_brought_forward_can_be_made_up_for() -> None:
    gate = opened()
    first = gate.free_at(NOON, MOST)
    sooner = gate.bring_probe_forward(NOON)
    assert sooner == pytest.approx(first - NOON)
    assert gate.bring_probe_forward(NOON) == 0
    answer(gate, NOON)
    then = gate.free_at(NOON, MOST)
    gate.delay(sooner)
    assert gate.free_at(NOON, MOST) == pytest.approx(then + sooner, abs=1e-6)


@pytest.mark.parametrize("longer", [0.5, 60.0])
def test_a_probe_can_be_put_off(longer: float) -> None:
    gate = opened()
    before = gate.free_at(NOON, MOST)
    gate.delay(longer)
    assert gate.free_at(NOON, MOST) - before == pytest.approx(longer, abs=1e-6)


def test_answers_from_before_it_opened_do_not_count_as_a_probe_that_passed() -> None:
    gate = a_gate()
    answer(gate, NOON, passed=True)
    gate.open(NOON, 1)
    assert not gate.step(NOON, 1)
    assert gate.phase is Phase.OPEN


def test_what_is_known_of_a_capacity_may_come_from_elsewhere() -> None:
    gate = a_gate()
    gate.open(NOON, 1, capacity=90.0)
    assert gate.pace.capacity == 90.0
    gate.close()
    gate.open(NOON, 1)
    assert gate.pace.capacity == 90.0


def test_a_gate_that_is_not_open_cannot_be_hurried() -> None:
    for gate in (a_gate(), ramped()):
        before = gate.pace
        assert gate.bring_probe_forward(NOON) == 0
        assert gate.pace == before


def test_after_a_probe_that_failed_the_next_comes_later() -> None:
    gate = opened()
    probe_at = gate.free_at(NOON, MOST)
    answer(gate, probe_at)
    assert not gate.step(probe_at, 1)
    assert gate.phase is Phase.OPEN
    assert gate.free_at(probe_at, MOST) >= probe_at + SHORTEST


def test_after_a_probe_that_was_lost_the_next_goes_all_the_same() -> None:
    gate = opened()
    probe_at = gate.free_at(NOON, MOST)
    gate.sent(probe_at, 1)
    gate.lost()
    assert probe_at + SHORTEST <= gate.free_at(probe_at, MOST) < math.inf


def test_probes_of_a_gate_with_much_behind_it_come_sooner() -> None:
    little, much = opened(), opened()
    for gate, waiting in ((little, 10), (much, 100_000)):
        for _ in range(30):
            now = gate.free_at(NOON, MOST)
            gate.sent(now, waiting)
            gate.lost()
    assert much.free_at(NOON, MOST) - NOON < (little.free_at(NOON, MOST) - NOON) / 10


def test_a_probe_waits_as_long_as_the_endpoint_asks() -> None:
    gate = opened()
    now = gate.free_at(NOON, MOST)
    answer(gate, now, asked=100.0)
    gate.step(now, 1)
    assert now + 100 <= gate.free_at(now, MOST) <= now + 110


def test_of_several_wishes_the_longest_counts_and_only_once() -> None:
    gate = opened()
    now = gate.free_at(NOON, MOST)
    for asked in (50.0, 100.0, 20.0):
        answer(gate, now, asked=asked)
    gate.step(now, 1)
    wished_for = gate.free_at(now, MOST)
    assert wished_for >= now + 100
    gate.step(wished_for, 1)
    assert gate.free_at(wished_for, MOST) == wished_for


def test_a_probe_that_passes_starts_a_ramp() -> None:
    gate = opened()
    now = gate.free_at(NOON, MOST)
    answer(gate, now, passed=True)
    assert gate.step(now, 100)
    assert gate.phase is Phase.PACED
    assert gate.pace.rate == RULE.first


def test_an_answer_to_what_was_sent_before_it_opened_may_say_that_it_is_up_again() -> None:
    gate = a_gate()
    before = gate.sent(NOON, 1)
    gate.open(NOON, 1)
    gate.answered(passed=True, failures=0, epoch=before, took=1.0, asked=None, now=NOON + 1)
    gate.step(NOON + 1, 1)
    assert (gate.phase, gate.pace.latency) == (Phase.PACED, 1.0)


def test_failures_of_what_was_sent_before_do_not_judge_the_new_pace() -> None:
    gate = opened()
    before = gate.pace.epoch
    now = gate.free_at(NOON, MOST)
    answer(gate, now, passed=True)
    gate.step(now, 100)
    answer(gate, now, epoch=before)
    gate.step(now, 100)
    assert gate.pace.recent(now) == (0, 0)
    answer(gate, now)
    gate.step(now, 100)
    assert gate.pace.recent(now) == (0, 1)


@pytest.mark.parametrize(("capacity", "rate"), [(None, 20.0), (1000.0, 500.0), (10.0, 10.0)])
def test_a_paced_gate_spaces_its_sends(capacity: float | None, rate: float) -> None:
    gate = ramped(capacity)
    assert gate.free_at(NOON, MOST) == NOON
    gate.sent(NOON, 100)
    wait = gate.free_at(NOON, MOST) - NOON  # compared with NOON itself, any wait would do
    assert wait == pytest.approx(1 / rate, abs=1e-6)


def test_a_paced_gate_has_no_more_in_the_air_than_its_pace_takes() -> None:
    gate, now = ramped(), NOON
    room = gate.pace.room()
    for _ in range(room):
        now = gate.free_at(now, MOST)
        gate.sent(now, 100)
    assert gate.free_at(now + 60, MOST) == math.inf
    gate.lost()
    assert gate.free_at(now + 60, MOST) == now + 60
    assert gate.free_at(now + 60, room - 1) == math.inf


def test_requests_that_hang_leave_room_for_others() -> None:
    gate, now = ramped(), NOON
    for _ in range(gate.pace.room()):
        now = gate.free_at(now, MOST)
        gate.sent(now, 100)
    gate.set_hanging(2)
    assert gate.room(MOST) == 2
    assert gate.free_at(now + 60, MOST) == now + 60
    gate.set_hanging(0)
    assert gate.free_at(now + 60, MOST) == math.inf


def test_requests_through_another_gate_that_hang_make_no_room_here() -> None:
    gate = ramped()
    room = gate.room(MOST)
    gate.set_hanging(5)
    assert gate.room(MOST) == room


def test_how_long_failures_take_does_not_count() -> None:
    gate = a_gate()
    answer(gate, NOON, took=15.0)
    answer(gate, NOON, passed=True, took=0.2)
    gate.step(NOON, 1)
    assert gate.pace.latency == pytest.approx(0.2)
    answer(gate, NOON, took=15.0)
    gate.step(NOON, 1)
    assert gate.pace.latency < 0.2


def test_how_long_answers_take_is_their_mean() -> None:
    gate = a_gate()
    for took in (0.1, 0.2, 0.6):
        answer(gate, NOON, passed=True, took=took)
    gate.step(NOON, 1)
    assert gate.pace.latency == pytest.approx(0.3)


def test_each_step_takes_in_the_answers_since_the_last_one() -> None:
    gate, phases = a_gate(), []
    for _ in range(5):
        answer(gate, NOON)
        gate.step(NOON, 1)
        gate.step(NOON, 1)
        phases.append(gate.phase)
    assert phases == [Phase.CLOSED] * 4 + [Phase.OPEN]


def test_a_paced_gate_closes_when_nothing_waits_any_more() -> None:
    gate = ramped()
    assert not gate.step(NOON + 1, 1)
    assert gate.step(NOON + 2, 0)
    assert gate.phase is Phase.CLOSED
    for _ in range(9):
        assert gate.free_at(NOON + 2, MOST) == NOON + 2
        gate.sent(NOON + 2, 0)


def test_it_is_looked_at_while_it_is_paced_or_has_just_failed() -> None:
    gate = a_gate()
    assert not gate.needs_tick(NOON)
    answer(gate, NOON, passed=True)
    assert not gate.needs_tick(NOON)
    answer(gate, NOON)
    assert gate.needs_tick(NOON)
    assert gate.needs_tick(NOON + WATCHED - 0.01)
    assert not gate.needs_tick(NOON + WATCHED)
    gate.open(NOON, 1)
    assert not gate.needs_tick(NOON)
    assert ramped().needs_tick(NOON + 1000)


def test_what_an_endpoint_asked_for_outlives_the_pace_unless_all_is_forgotten() -> None:
    gate = opened()
    gate.hold(NOON + 90)
    gate.close()
    assert gate.pace.held_until == NOON + 90
    gate.ramp(NOON)
    assert (gate.phase, gate.pace.held_until) == (Phase.PACED, NOON + 90)
    gate.close(forget=True)
    assert gate.pace.held_until == 0


def test_only_a_closed_gate_is_ramped() -> None:
    gate = opened()
    before = gate.pace
    gate.ramp(NOON)
    assert gate.pace is before
    paced = ramped()
    before = paced.pace
    paced.ramp(NOON + 1)
    assert paced.pace is before


LEARNED = {
    "capacity": 80.0,
    "baseline": 0.2,
    "most": 90.0,
    "judged": NOON - 5,
    "history": Sample(7, 2),
    "held_until": NOON + 60,
}


@pytest.mark.parametrize("forget", [False, True])
def test_to_close_it_keeps_what_was_learned_unless_it_is_to_be_forgotten(*, forget: bool) -> None:
    pace = Pace(phase=Phase.PACED, rate=5.0, epoch=3, goal=70.0, streak=2, begun=NOON - 60)
    gate = a_gate(pace.replace(**LEARNED))
    gate.close(forget=forget)
    closed = Pace(epoch=4)
    assert gate.pace == (closed if forget else closed.replace(**LEARNED))
    assert gate.phase is Phase.CLOSED


def test_a_gate_that_closes_does_not_keep_to_its_old_spacing_when_it_is_paced_anew() -> None:
    gate = a_gate(Pace(phase=Phase.PACED, rate=0.01))
    gate.sent(NOON, 9)
    assert gate.free_at(NOON, MOST) > NOON + 90
    gate.close(forget=True)
    gate.ramp(NOON + 1)
    assert gate.free_at(NOON + 1, MOST) == NOON + 1


def test_a_gate_goes_on_where_the_one_before_it_stood() -> None:
    paced = a_gate(Pace(phase=Phase.PACED, rate=10.0))
    paced.sent(NOON, 9)
    assert paced.free_at(NOON, MOST) - NOON == pytest.approx(0.1, abs=1e-6)
    waiting = a_gate(Pace(phase=Phase.OPEN, rate=0.0, probe_at=NOON + 30))
    assert waiting.free_at(NOON, MOST) == NOON + 30
    assert not waiting.step(NOON, 1)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "pass", "fail", "say nothing", "lose", "step", "open", "ramp"]),
        st.floats(0, 20),
        st.integers(0, 5000),
    ),
    max_size=150,
)


@given(STEPS, st.floats(0, 1, exclude_max=True))
def test_whatever_happens_a_gate_is_never_stuck(
    steps: list[tuple[str, float, int]], draw: float
) -> None:
    gate, now, epochs = Gate(Pace(), lambda: draw), NOON, list[int]()
    for what, pause, waiting in steps:
        now += pause
        epoch = gate.pace.epoch
        match what:
            case "send" if gate.free_at(now, 8) <= now:
                epochs.append(gate.sent(now, waiting))
            case "pass" | "fail" | "say nothing" if epochs:
                gate.answered(
                    passed=what == "pass",
                    failures=int(what == "fail"),
                    epoch=epochs.pop(0),
                    took=0.1,
                    asked=None,
                    now=now,
                )
            case "lose" if epochs:
                epochs.pop()
                gate.lost()
            case "step":
                before = gate.phase
                assert gate.step(now, waiting) or gate.phase is before
            case "open" if gate.phase is not Phase.OPEN:
                gate.open(now, waiting)
            case "ramp":
                gate.ramp(now)
        assert gate.in_flight == len(epochs) <= 8
        assert gate.pace.epoch >= epoch
        assert gate.phase is gate.pace.phase
        if not epochs:  # nobody is waited for: it lets the next go sooner or later
            assert now <= gate.free_at(now, 8) <= now + 3600


def test_what_says_nothing_of_a_pace_still_counts_as_sent_at_it() -> None:
    gate = a_gate()
    gate.ramp(NOON)
    for _ in range(20):
        answer(gate, NOON + 1, failures=0)
    gate.step(NOON + 1, 1)
    assert gate.pace.offered(NOON + 1) == 20
    assert gate.pace.recent(NOON + 1) == (0, 0)


def test_failures_from_before_count_with_those_that_follow() -> None:
    gate = a_gate()
    gate.take_over_failures(4)
    assert not gate.step(NOON, 1)
    answer(gate, NOON, failures=1)
    assert gate.step(NOON, 1)
    assert gate.phase is Phase.OPEN


def test_one_that_asks_goes_at_once_beside_a_probe_in_the_air() -> None:
    gate = opened()
    planned = gate.pace.probe_at
    assert gate.allow_extra_probe(NOON + 0.5) == planned - NOON - 0.5
    assert (gate.extra_probe, gate.free_at(NOON + 0.5, MOST)) == (True, NOON + 0.5)
    gate.sent(NOON + 0.5, 1)
    assert not gate.extra_probe
    assert gate.free_at(NOON + 60, MOST) == math.inf
    assert gate.allow_extra_probe(NOON + 60) == 0.0
    assert gate.free_at(NOON + 60, MOST) == NOON + 60


def test_nobody_has_to_ask_at_a_gate_that_is_not_open() -> None:
    gate = opened()
    gate.allow_extra_probe(NOON)
    gate.close()
    assert not gate.extra_probe
    assert gate.allow_extra_probe(NOON) == 0.0
    assert not gate.extra_probe


def test_it_may_be_known_since_when_an_endpoint_is_down() -> None:
    gate = a_gate()
    gate.open(NOON, 1, 9.0, NOON - 60)
    assert (gate.phase, gate.pace.capacity, gate.pace.down_since) == (Phase.OPEN, 9.0, NOON - 60)
    assert NOON < gate.pace.probe_at <= NOON + 2 * SHORTEST


def test_a_paced_gate_waits_for_the_last_answer_before_it_closes() -> None:
    gate = ramped()
    gate.sent(NOON, 0)
    assert gate.step(NOON + 0.1, 0) is False
    gate.lost()
    assert gate.step(NOON + 0.2, 0) is True
    assert gate.phase is Phase.CLOSED


def test_a_row_of_failures_is_by_chance_as_long_as_it_is_a_usual_one() -> None:
    gate = a_gate()
    answer(gate, NOON)
    assert not gate.fails_by_chance  # hardly one in ten fails
    for number in range(20):
        answer(gate, NOON, passed=bool(number % 2))
    gate.step(NOON, 1)
    for _ in range(9):
        answer(gate, NOON)
        assert gate.fails_by_chance
    for _ in range(9):
        answer(gate, NOON)
    assert not gate.fails_by_chance
    gate.open(NOON, 1)
    assert not gate.fails_by_chance


@pytest.mark.parametrize("late", [False, True])
def test_the_failure_that_makes_a_row_too_long_for_chance_is_not_by_chance(*, late: bool) -> None:
    gate = a_gate()
    epoch = gate.pace.epoch - late
    for number in range(20):
        answer(gate, NOON, passed=bool(number % 2))
    gate.step(NOON, 1)
    for _ in range(in_a_row(RULE, gate.pace) - 1):
        answer(gate, NOON, epoch=epoch)
    assert gate.fails_by_chance
    answer(gate, NOON, epoch=epoch)
    assert not gate.fails_by_chance


def test_a_new_gate_expects_the_failures_by_chance_that_others_have() -> None:
    gate = a_gate()
    gate.assume(Sample(30, 30))
    assert gate.pace.history == Sample(30, 30)
    for _ in range(in_a_row(RULE, gate.pace) - 1):
        answer(gate, NOON)
        assert gate.fails_by_chance
    gate.assume(Sample(100, 0))
    assert gate.pace.history == Sample(30, 30)  # what it knows by now is enough


def test_twice_as_many_answers_of_others_as_a_gate_needs_itself_are_enough() -> None:
    gate = a_gate()
    gate.assume(Sample(FEW_ANSWERS, FEW_ANSWERS))
    assert gate.pace.history == Sample(FEW_ANSWERS, FEW_ANSWERS)


@pytest.mark.parametrize(
    ("passed", "failed", "besides", "row"),
    [(0, 0, 0, 5), (90, 0, 0, 5), (16, 20, 0, 17), (16, 20, 20, 5), (6, 3, 9, 5)],
)
def test_a_row_is_beyond_chance_by_what_others_got_in_the_last_second(
    passed: int, failed: int, besides: int, row: int
) -> None:
    gate = ramped()
    epoch = gate.pace.epoch
    for _ in range(passed):
        answer(gate, NOON, epoch=epoch, passed=True)
    for _ in range(failed):
        answer(gate, NOON, epoch=epoch)
    gate.step(NOON, 1)
    assert gate.row_beyond_chance(NOON, besides=besides) == row
    assert gate.row_beyond_chance(NOON + 2, besides=0) == RULE.failures


@pytest.mark.parametrize("others", [Sample(), Sample(1, 3), Sample(9, 10)])
def test_a_gate_goes_by_its_own_answers_where_others_have_few(others: Sample) -> None:
    gate = a_gate()
    gate.assume(others)
    assert gate.pace.history == Sample()


def test_a_gate_takes_over_the_outage_that_another_process_knows() -> None:
    gate = opened()
    epoch = gate.pace.epoch
    theirs = gate.pace.replace(
        epoch=99, probes=7, probe_at=NOON + 40, down_since=NOON - 60, capacity=9.0
    )
    gate.follow(theirs)
    assert gate.pace == theirs.replace(epoch=epoch)
    assert gate.free_at(NOON, MOST) == NOON + 40


def test_a_probe_that_passed_elsewhere_counts_like_its_own() -> None:
    gate = opened()
    air = gate.in_flight
    gate.passed_elsewhere(Pace(capacity=50.0, latency=0.3), NOON + 1)
    assert gate.step(NOON + 1, 1)
    assert (gate.phase, gate.in_flight) == (Phase.PACED, air)
    assert (gate.pace.goal, gate.pace.latency) == (50.0, 0.3)


def test_a_pace_is_scaled_with_all_that_is_known_of_the_capacity() -> None:
    gate = a_gate(Pace(phase=Phase.PACED, rate=40.0, goal=80.0, capacity=100.0, failed_at=120.0))
    gate.scale(0.25)
    pace = gate.pace
    assert (pace.rate, pace.goal, pace.capacity, pace.failed_at) == (10.0, 20.0, 25.0, 30.0)
    fresh = scaled(Pace(), 0.25)
    assert fresh == Pace()


def test_a_gate_that_opens_forgets_the_answers_to_its_last_pace() -> None:
    gate = ramped()
    for _ in range(20):
        answer(gate, NOON + 1, passed=True)
    gate.step(NOON + 1, 1)
    assert gate.pace.recent(NOON + 1) == (20, 0)
    gate.open(NOON + 1, 1)
    assert (gate.pace.recent(NOON + 1), gate.pace.offered(NOON + 1)) == ((0, 0), 0)


# --- Asked for a pause --------------------------------------------------------------------------


def test_a_wish_for_a_pause_slows_down_the_pace_that_it_was_an_answer_to() -> None:
    gate = a_gate()
    gate.slow_down(gate.pace.epoch, 5.0, NOON)
    assert gate.phase is Phase.CLOSED
    gate.ramp(NOON)
    rate, epoch = gate.pace.rate, gate.pace.epoch
    gate.slow_down(epoch - 1, 5.0, NOON)
    assert gate.pace.rate == rate
    gate.slow_down(epoch, 5.0, NOON)
    assert gate.pace.rate < rate
    slower = gate.pace
    gate.slow_down(epoch, 5.0, NOON)  # another answer of the same burst
    assert gate.pace is slower


@pytest.mark.parametrize("pause", [0.0, 0.3, 60.0])
def test_answers_from_before_a_ramp_do_not_count_as_answers_to_its_pace(pause: float) -> None:
    gate, fresh = a_gate(), a_gate()
    for _ in range(20):
        answer(gate, NOON - pause, passed=True)
    for each in (gate, fresh):
        each.ramp(NOON)
        each.step(NOON + RULE.tick, 1)
    pace, expected = gate.pace, fresh.pace
    assert (pace.rate, pace.flow) == (expected.rate, expected.flow)
    assert pace.topped_at <= NOON - pause
    assert pace.recent(NOON + RULE.tick) == (0, 0)


def test_the_latency_of_answers_from_before_a_gate_closed_does_not_count_for_its_next_pace() -> (
    None
):
    gate = a_gate()
    for _ in range(10):
        answer(gate, NOON, passed=True, took=5.0)
    gate.close()
    gate.open(NOON + 60, 1)
    answer(gate, NOON + 90, passed=True, took=0.1)
    gate.step(NOON + 90, 1)
    assert gate.phase is Phase.PACED
    assert gate.pace.latency == pytest.approx(0.1)


def test_a_wait_that_was_asked_for_before_a_gate_closed_does_not_delay_a_later_probe() -> None:
    gate = a_gate()
    answer(gate, NOON, asked=600.0)
    gate.close()
    gate.open(NOON + 1, 1)
    now = gate.free_at(NOON + 1, MOST)
    answer(gate, now)
    gate.step(now, 1)
    assert now < gate.pace.probe_at < now + 60


def test_failures_from_before_a_gate_closed_do_not_open_it() -> None:
    gate = a_gate()
    answer(gate, NOON, failures=RULE.failures)
    gate.close()
    assert not gate.step(NOON, 1)
    assert gate.phase is Phase.CLOSED


def test_another_rule_of_probes_brings_a_late_probe_forward_and_delays_none() -> None:
    an_hour_ago = Pace(phase=Phase.OPEN, rate=0.0, down_since=NOON - 3_600, probe_at=NOON + 150)
    gate = a_gate(an_hour_ago)
    gate.set_probes(ProbeRule(late=0.5), NOON)
    assert gate.pace.probe_at == NOON + 150
    gate.set_probes(ProbeRule(at_most=60), NOON)
    assert gate.pace.probe_at == NOON + 60
    gate.sent(NOON + 60, 1)
    assert NOON + 60 < gate.pace.probe_at <= NOON + 120
    young = opened()
    young.set_probes(ProbeRule(at_most=1), NOON)
    assert young.pace == opened().pace

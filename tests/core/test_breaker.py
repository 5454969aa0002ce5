import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tarry.core.breaker import (
    FAILED,
    IGNORED,
    MOVES,
    PASSED,
    BreakerRule,
    BreakerState,
    Lease,
    Phase,
    Verdict,
    admit,
    closed,
    opened,
    record,
    retry_at,
    succeed,
    verdict_on,
)
from tarry.core.outcome import FINAL, Failure, Kind, Outcome, Pending, Success
from tarry.core.window import SLICES, Window
from tarry.errors import PolicyError

DEFAULTS: Mapping[str, object] = {
    "failures": 3,
    "open_for": 30,
    "rate": None,
    "minimum": 4,
    "window": 10,
    "slow": None,
    "slow_rate": 0.5,
    "growth": 1,
    "longest": None,
    "jitter": 0,
    "probes": 1,
    "lease": None,
}


def ruled(**changes: object) -> BreakerRule:
    spelled_out: dict[str, Any] = {**DEFAULTS, **changes}
    return BreakerRule(**spelled_out)


def never() -> float:
    raise AssertionError("nothing is drawn unless it opens")


def half() -> float:
    return 0.5


def told(
    rules: BreakerRule, state: BreakerState, *verdicts: Verdict, now: float = 0.0, took: float = 0.0
) -> BreakerState:
    """The state after calls that were let through at once and reported so, one after the other."""
    for verdict in verdicts:
        state, ticket = admit(rules, state, now)
        assert ticket is not None
        state = record(rules, state, ticket, verdict, took=took, now=now, draw=half)
    return state


def half_open(rules: BreakerRule, *, probes: int = 0) -> BreakerState:
    """A breaker that opened at 0 and went half-open at 30, with so many probes let through."""
    state = opened(rules, BreakerState(), now=0, draw=0)
    for _ in range(probes):
        state, ticket = admit(rules, state, 30)
        assert ticket is not None
    return state


# The rule


def test_a_rule_fills_in_what_follows_from_the_rest() -> None:
    rules = ruled(open_for=timedelta(seconds=40))
    assert (rules.open_for, rules.lease, rules.longest) == (40.0, 40.0, 300.0)
    assert ruled(open_for=400).longest == 400.0
    assert ruled(open_for=30, lease=7, longest=30).lease == 7.0
    assert ruled(open_for=30, lease=7, longest=30).longest == 30.0


@pytest.mark.parametrize(
    ("changes", "windowed"),
    [({}, False), ({"rate": 0.5}, True), ({"slow": 1}, True), ({"rate": 1, "slow": 1}, True)],
)
def test_a_rule_is_windowed_if_it_looks_at_rates(
    changes: dict[str, object], *, windowed: bool
) -> None:
    assert ruled(**changes).windowed is windowed


@pytest.mark.parametrize(
    ("changes", "field", "wanted"),
    [
        ({"failures": 0}, "breaker.failures", "a whole number, 1 or more"),
        ({"failures": True}, "breaker.failures", "a whole number, 1 or more"),
        ({"failures": None}, "breaker.failures", "given, or else rate or slow"),
        ({"open_for": 0}, "breaker.open_for", "a number of seconds above 0, up to 1,000,000,000"),
        ({"rate": 0}, "breaker.rate", "a number above 0, at most 1"),
        ({"rate": 1.01}, "breaker.rate", "a number above 0, at most 1"),
        ({"minimum": 0}, "breaker.minimum", "a whole number, 1 or more"),
        ({"window": 0}, "breaker.window", "a number of seconds from 0.001 to 1,000,000,000"),
        ({"slow": 0}, "breaker.slow", "a number of seconds above 0, up to 1,000,000,000"),
        ({"slow_rate": 0}, "breaker.slow_rate", "a number above 0, at most 1"),
        ({"slow_rate": 2}, "breaker.slow_rate", "a number above 0, at most 1"),
        ({"growth": 0.99}, "breaker.growth", "1 or more"),
        ({"growth": math.inf}, "breaker.growth", "1 or more"),
        ({"jitter": -0.1}, "breaker.jitter", "a number from 0 to 1"),
        ({"jitter": 1.1}, "breaker.jitter", "a number from 0 to 1"),
        ({"probes": 0}, "breaker.probes", "a whole number, 1 or more"),
        ({"lease": 0}, "breaker.lease", "a number of seconds above 0, up to 1,000,000,000"),
        ({"longest": 0}, "breaker.longest", "a number of seconds above 0, up to 1,000,000,000"),
        ({"longest": 29.9}, "breaker.longest", "at least open_for (30)"),
    ],
    ids=repr,
)
def test_a_rule_refuses_nonsense(changes: dict[str, object], field: str, wanted: str) -> None:
    with pytest.raises(PolicyError) as caught:
        ruled(**changes)
    assert (caught.value.field, caught.value.wanted) == (field, wanted)
    assert [caught.value.value] == list(changes.values())


def test_failures_in_a_row_may_be_left_out_if_there_is_a_rate() -> None:
    assert ruled(failures=None, rate=1).failures is None
    assert ruled(failures=None, slow=1).failures is None
    assert (ruled(rate=1).rate, ruled(slow=2, slow_rate=1).slow_rate) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("openings", "draw", "time"),
    [
        (1, 0.0, 10.0),
        (1, 0.5, 9.0),
        (2, 0.0, 30.0),
        (3, 0.5, 81.0),
        (4, 0.0, 200.0),
        (4, 0.5, 180.0),
    ],
)
def test_open_times_grow_up_to_the_longest_and_are_shortened_by_chance(
    openings: int, draw: float, time: float
) -> None:
    rules = ruled(open_for=10, growth=3, longest=200, jitter=0.2)
    assert rules.open_time(openings, draw) == pytest.approx(time, rel=1e-15)


def test_open_times_never_overflow() -> None:
    assert ruled(open_for=10, growth=1e300, longest=50).open_time(3, 0) == 50
    assert ruled(open_for=10, growth=2, longest=1e9).open_time(10**9, 0) == 1e9


@given(
    openings=st.integers(1, 2_000),
    draw=st.floats(0, 1, exclude_max=True),
    growth=st.floats(1, 10),
    jitter=st.floats(0, 1),
)
def test_an_open_time_is_between_its_floor_and_its_ceiling(
    openings: int, draw: float, growth: float, jitter: float
) -> None:
    rules = ruled(open_for=5, growth=growth, longest=100, jitter=jitter)
    time = rules.open_time(openings, draw)
    assert 0 <= time <= 100
    assert 5 * (1 - jitter) - 1e-12 <= time
    assert time <= rules.open_time(openings, 0)
    assert rules.open_time(openings, 0) <= rules.open_time(openings + 1, 0)


def test_the_slot_of_a_rule_is_a_twentieth_of_its_window() -> None:
    assert [ruled(window=10).slot(now) for now in (0, 0.49, 0.5, 10)] == [0, 0, 1, 20]


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Success(), PASSED),
        (Pending(), PASSED),
        *((Failure(kind), IGNORED if kind in FINAL else FAILED) for kind in Kind),
    ],
    ids=repr,
)
def test_a_final_answer_says_nothing_against_who_gave_it(
    outcome: Outcome, verdict: Verdict
) -> None:
    assert verdict_on(outcome) is verdict


# Closed


def test_a_new_breaker_is_closed_and_lets_everybody_through_with_one_ticket() -> None:
    state = BreakerState()
    assert (state.phase, state.serial, state.ticket) == (Phase.CLOSED, 1, 1)
    assert admit(ruled(), state, 5) == (state, 1)
    assert admit(ruled(), state, 5)[0] is state


def test_it_opens_on_so_many_failures_in_a_row() -> None:
    rules = ruled(failures=3)
    state = told(rules, BreakerState(), FAILED, FAILED)
    assert (state.phase, state.streak) == (Phase.CLOSED, 2)
    state = told(rules, state, FAILED, now=7)
    assert state == BreakerState(phase=Phase.OPEN, serial=2, ticket=0, openings=1, open_until=37.0)


def test_a_call_that_passes_ends_the_row() -> None:
    state = told(ruled(failures=2), BreakerState(), FAILED, PASSED, FAILED)
    assert (state.phase, state.streak) == (Phase.CLOSED, 1)


def test_a_call_that_is_ignored_changes_nothing() -> None:
    rules = ruled(failures=2, rate=0.5)
    state = told(rules, BreakerState(), FAILED)
    assert told(rules, state, IGNORED) is state
    assert told(rules, state, FAILED).phase is Phase.OPEN


def test_without_rates_no_window_is_kept() -> None:
    assert told(ruled(), BreakerState(), PASSED, FAILED).window == Window()


def test_it_opens_when_a_share_of_enough_calls_failed() -> None:
    rules = ruled(failures=None, rate=0.5, minimum=4)
    state = told(rules, BreakerState(), PASSED, FAILED, PASSED)
    assert state.phase is Phase.CLOSED
    assert state.window.sums(0, SLICES, 3) == (3, 1, 0)
    assert told(rules, state, FAILED).phase is Phase.OPEN  # 2 of 4
    assert told(rules, state, PASSED, FAILED).phase is Phase.CLOSED  # 2 of 5
    assert told(rules, state, PASSED, FAILED, FAILED).phase is Phase.OPEN  # 3 of 6


def test_too_few_calls_say_nothing_about_a_rate() -> None:
    rules = ruled(failures=None, rate=0.1, minimum=4)
    assert told(rules, BreakerState(), FAILED, FAILED, FAILED).phase is Phase.CLOSED
    assert told(rules, BreakerState(), FAILED, FAILED, FAILED, FAILED).phase is Phase.OPEN


def test_a_call_that_went_well_opens_nothing() -> None:
    rules = ruled(failures=None, rate=0.5, minimum=4)
    state = told(rules, BreakerState(), FAILED, FAILED, PASSED, PASSED)
    assert state.phase is Phase.CLOSED  # 2 of 4: the next failure will tell
    assert told(rules, state, FAILED).phase is Phase.OPEN


def test_seven_of_a_hundred_are_seven_percent() -> None:
    """0.07 * 100 is a little more than 7; that must not cost a failure."""
    rules = ruled(failures=None, rate=0.07, minimum=100)
    state = told(rules, BreakerState(), *[PASSED] * 93, *[FAILED] * 6)
    assert state.phase is Phase.CLOSED
    assert told(rules, state, FAILED).phase is Phase.OPEN


@pytest.mark.parametrize(("now", "phase"), [(9.99, Phase.OPEN), (10.0, Phase.CLOSED)])
def test_failures_leave_the_window_when_they_are_too_old(now: float, phase: Phase) -> None:
    rules = ruled(failures=None, rate=1, minimum=2, window=10)
    state = told(rules, BreakerState(), FAILED, now=0)
    assert told(rules, state, FAILED, now=now).phase is phase


@pytest.mark.parametrize(("took", "slow"), [(2.0, 0), (2.000_001, 1)])
def test_a_call_is_slow_when_it_takes_longer_than_the_limit(took: float, slow: int) -> None:
    rules = ruled(slow=2, slow_rate=1)
    state = told(rules, BreakerState(), PASSED, took=took)
    assert state.window.sums(0, SLICES, 3) == (1, 0, slow)


def test_a_call_that_failed_is_failed_and_not_slow() -> None:
    state = told(ruled(slow=2), BreakerState(), FAILED, took=5)
    assert state.window.sums(0, SLICES, 3) == (1, 1, 0)


def test_it_opens_when_a_share_of_enough_calls_was_slow() -> None:
    rules = ruled(failures=None, slow=2, slow_rate=0.5, minimum=4)
    state = told(rules, BreakerState(), PASSED, PASSED, took=1)
    state = told(rules, state, PASSED, took=3)
    assert state.phase is Phase.CLOSED
    assert told(rules, state, PASSED, took=3).phase is Phase.OPEN
    assert told(rules, state, FAILED, took=3).phase is Phase.CLOSED  # no share of failures is set


def test_slow_calls_do_not_count_where_only_failures_do() -> None:
    rules = ruled(failures=None, rate=0.5, minimum=1)
    assert told(rules, BreakerState(), PASSED, took=1e9).phase is Phase.CLOSED
    assert told(rules, BreakerState(), FAILED).phase is Phase.OPEN


def test_a_slow_call_is_none_in_a_row_of_failures() -> None:
    rules = ruled(failures=2, slow=2, minimum=99)
    assert told(rules, told(rules, BreakerState(), FAILED), PASSED, took=9).streak == 0


def test_many_calls_that_passed_are_counted_in_one_step() -> None:
    rules = ruled(rate=0.5)
    state = told(rules, BreakerState(), FAILED)
    counted = succeed(state, 5, slot=3)
    assert (counted.streak, counted.window.sums(3, SLICES, 3)) == (0, (6, 1, 0))


# Open, half-open and closed again


def test_while_it_is_open_nobody_is_let_through() -> None:
    state = opened(ruled(), BreakerState(), now=0, draw=0)
    assert admit(ruled(), state, 29.999) == (state, None)
    assert retry_at(ruled(), state) == 30.0


def test_when_its_time_is_over_one_probe_is_let_through() -> None:
    state = opened(ruled(), BreakerState(), now=0, draw=0)
    state, ticket = admit(ruled(), state, 30)
    assert ticket == 4
    assert state == BreakerState(
        phase=Phase.HALF_OPEN,
        serial=4,
        ticket=0,
        openings=1,
        open_until=30.0,
        leases=(Lease(4, 60.0),),
    )
    assert admit(ruled(), state, 31) == (state, None)
    assert retry_at(ruled(), state) == 60.0


def test_as_many_probes_are_let_through_as_the_rule_says() -> None:
    rules = ruled(probes=3)
    state = half_open(rules, probes=2)
    assert retry_at(rules, state) == 30.0  # one more may go at once
    state, ticket = admit(rules, state, 33)
    assert [lease.ticket for lease in state.leases] == [4, 5, 6]
    assert ticket == 6
    assert admit(rules, state, 34) == (state, None)
    assert retry_at(rules, state) == 60.0  # when the first of them is given up for lost


def test_a_probe_that_passes_closes_it_and_forgets_everything() -> None:
    state = half_open(ruled(), probes=1)
    state = record(ruled(), state, 4, PASSED, took=0, now=31, draw=never)
    assert state == BreakerState(phase=Phase.CLOSED, serial=5, ticket=5)


def test_a_probe_that_fails_opens_it_again_for_longer() -> None:
    rules = ruled(growth=2)
    state = record(rules, half_open(rules, probes=1), 4, FAILED, took=0, now=31, draw=half)
    assert state == BreakerState(
        phase=Phase.OPEN, serial=5, ticket=0, openings=2, open_until=31 + 60.0
    )


def test_a_slow_probe_has_failed() -> None:
    rules = ruled(slow=2)
    state = record(rules, half_open(rules, probes=1), 4, PASSED, took=3, now=31, draw=half)
    assert state.phase is Phase.OPEN
    state = record(rules, half_open(rules, probes=1), 4, PASSED, took=2, now=31, draw=half)
    assert state.phase is Phase.CLOSED


def test_a_slow_probe_that_was_cancelled_says_nothing() -> None:
    rules = ruled(slow=2)
    state = record(rules, half_open(rules, probes=1), 4, IGNORED, took=3, now=31, draw=never)
    assert (state.phase, state.leases) == (Phase.HALF_OPEN, ())


def test_a_probe_that_says_nothing_makes_room_for_another() -> None:
    state = half_open(ruled(), probes=1)
    state = record(ruled(), state, 4, IGNORED, took=0, now=31, draw=never)
    assert (state.phase, state.leases, state.passed, state.failed) == (Phase.HALF_OPEN, (), 0, 0)
    assert retry_at(ruled(), state) == 30.0
    assert admit(ruled(), state, 31)[1] == 5


@pytest.mark.parametrize(
    ("probes", "verdicts", "phases"),
    [
        (1, "p", "C"),
        (1, "f", "O"),
        (2, "pp", "HC"),
        (2, "f", "O"),
        (2, "pf", "HO"),
        (3, "pp", "HC"),
        (3, "pfp", "HHC"),
        (3, "ff", "HO"),
        (4, "ppp", "HHC"),
        (4, "ff", "HO"),
        (4, "ppff", "HHHO"),
        (5, "fpfpp", "HHHHC"),
        (5, "fff", "HHO"),
    ],
)
def test_more_than_half_of_the_probes_must_pass(probes: int, verdicts: str, phases: str) -> None:
    rules, state = ruled(probes=probes), half_open(ruled(probes=probes), probes=probes)
    short = {Phase.CLOSED: "C", Phase.HALF_OPEN: "H", Phase.OPEN: "O"}
    seen = ""
    for ticket, verdict in enumerate(verdicts, start=4):
        said = PASSED if verdict == "p" else FAILED
        state = record(rules, state, ticket, said, took=0, now=31, draw=half)
        seen += short[state.phase]
    assert seen == phases


def test_a_report_of_a_probe_is_kept_with_the_others() -> None:
    rules = ruled(probes=4)
    state = half_open(rules, probes=3)
    state = record(rules, state, 5, PASSED, took=0, now=31, draw=never)
    assert (state.passed, state.failed) == (1, 0)
    assert [lease.ticket for lease in state.leases] == [4, 6]
    state = record(rules, state, 4, FAILED, took=0, now=31, draw=never)
    assert (state.passed, state.failed) == (1, 1)
    state, ticket = admit(rules, state, 31)  # two reported, one out, one left
    assert ticket == 7
    assert admit(rules, state, 31)[1] is None


@pytest.mark.parametrize(("now", "ticket"), [(59.999, None), (60.0, 5)])
def test_a_lost_probe_is_given_up_when_its_lease_runs_out(now: float, ticket: int | None) -> None:
    state = half_open(ruled(), probes=1)
    assert admit(ruled(), state, now)[1] == ticket


def test_when_all_probes_have_reported_nobody_waits_for_a_lease() -> None:
    state = BreakerState(phase=Phase.HALF_OPEN, ticket=0, open_until=30.0, passed=1)
    assert retry_at(ruled(), state) == 30.0


def test_what_belonged_to_one_phase_is_gone_in_the_next() -> None:
    rules = ruled(failures=None, rate=0.5, minimum=2, probes=4)
    state = told(rules, BreakerState(), PASSED, FAILED)
    assert (state.phase, state.window) == (Phase.OPEN, Window())
    tickets = []
    for _ in range(4):
        state, ticket = admit(rules, state, 30)
        tickets.append(ticket or 0)
    for ticket, verdict in zip(tickets, (PASSED, FAILED, FAILED), strict=False):
        state = record(rules, state, ticket, verdict, took=0, now=31, draw=half)
    assert state.phase is Phase.OPEN
    assert (state.passed, state.failed, state.leases) == (0, 0, ())


def test_a_probe_given_up_for_lost_is_not_heard_any_more() -> None:
    state, _ = admit(ruled(), half_open(ruled(), probes=1), 60)
    for verdict in Verdict:
        assert record(ruled(), state, 4, verdict, took=30, now=61, draw=never) is state


def test_a_late_probe_is_heard_as_long_as_nobody_took_its_place() -> None:
    state = half_open(ruled(), probes=1)
    assert record(ruled(), state, 4, PASSED, took=99, now=99, draw=never).phase is Phase.CLOSED


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_stale_ticket_changes_nothing(verdict: Verdict) -> None:
    rules = ruled(slow=1)
    for state in (
        opened(rules, BreakerState(), now=0, draw=0),
        half_open(rules, probes=1),
        closed(BreakerState()),
    ):
        assert record(rules, state, 1, verdict, took=9, now=40, draw=never) is state
        assert record(rules, state, 0, verdict, took=9, now=40, draw=never) is state


def test_the_draw_shortens_the_open_time() -> None:
    rules = ruled(failures=1, jitter=0.5)
    assert told(rules, BreakerState(), FAILED, now=100).open_until == 100 + 30 * 0.75


def test_opening_by_hand_counts_as_an_opening() -> None:
    rules = ruled(growth=2)
    once = opened(rules, BreakerState(), now=0, draw=0)
    again = opened(rules, half_open(rules, probes=1), now=50, draw=0)
    assert (once.openings, once.open_until) == (1, 30.0)
    assert (again.openings, again.open_until, again.leases) == (2, 110.0, ())


def test_closing_gives_a_new_ticket_from_wherever() -> None:
    used = opened(ruled(), BreakerState(streak=2), now=0, draw=0)
    for state in (BreakerState(), BreakerState(streak=2), used, half_open(ruled(), probes=1)):
        fresh = closed(state)
        assert fresh == BreakerState(serial=state.serial + 1, ticket=state.serial + 1)


def test_a_move_that_is_not_in_the_table_is_refused() -> None:
    state = opened(ruled(), BreakerState(), now=0, draw=0)
    with pytest.raises(ValueError, match="a breaker does not move from open to open"):
        opened(ruled(), state, now=0, draw=0)


def test_the_table_of_moves_is_the_life_of_a_breaker() -> None:
    assert {phase.value: {to.value for to in moves} for phase, moves in MOVES.items()} == {
        "closed": {"open", "closed"},
        "open": {"half-open", "closed"},
        "half-open": {"closed", "open"},
    }


# The whole life, whatever happens


class Life(RuleBasedStateMachine):
    """Drives the pure steps as callers would, beside a model that remembers everything."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0
        self.state = BreakerState()
        self.held: list[int] = []  # tickets that have not reported, valid or not
        self.given: set[int] = set()
        self.calls: list[tuple[int, bool, bool]] = []  # since it closed: slot, failed, slow
        self.streak = 0
        self.openings = 0

    @initialize(
        failures=st.none() | st.integers(1, 4),
        rate=st.none() | st.sampled_from([0.25, 0.5, 1.0]),
        slow=st.none() | st.just(2.0),
        minimum=st.integers(1, 5),
        probes=st.integers(1, 4),
        growth=st.sampled_from([1.0, 1.5, 4.0]),
        jitter=st.sampled_from([0.0, 0.1, 1.0]),
        lease=st.none() | st.floats(1, 40),
    )
    def it_is_ruled(self, **drawn: object) -> None:
        if drawn["failures"] is None and drawn["rate"] is None and drawn["slow"] is None:
            drawn["failures"] = 2
        self.law = ruled(**drawn, open_for=10, longest=60, window=5)

    @rule(step=st.floats(0, 3) | st.floats(0, 40))
    def time_passes(self, step: float) -> None:
        self.now += step

    @rule()
    def somebody_calls(self) -> None:
        before = self.state
        self._became(*admit(self.law, before, self.now))
        if before.phase is Phase.CLOSED:
            assert self.state is before
            assert self.held[-1] == before.ticket

    def _became(self, state: BreakerState, ticket: int | None) -> None:
        before, self.state = self.state, state
        if ticket is None:
            assert before.phase is not Phase.CLOSED
            assert self.now < retry_at(self.law, before)
            assert self.now < retry_at(self.law, state)
            return
        self.held.append(ticket)
        if state.phase is Phase.HALF_OPEN:
            assert ticket not in self.given
            assert state.leases[-1] == Lease(ticket, self.now + self.law.lease)
        self.given.add(ticket)
        self._moved(before)

    @precondition(lambda self: self.held)
    @rule(
        data=st.data(),
        verdict=st.sampled_from(Verdict),
        took=st.sampled_from([0.0, 2.0, 2.5]),
        draw=st.floats(0, 1, exclude_max=True),
    )
    def somebody_reports(
        self, data: st.DataObject, verdict: Verdict, took: float, draw: float
    ) -> None:
        ticket = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        before = self.state
        probe = any(lease.ticket == ticket for lease in before.leases)
        self.state = record(
            self.law, before, ticket, verdict, took=took, now=self.now, draw=lambda: draw
        )
        slow = self.law.slow is not None and took > self.law.slow and verdict is PASSED
        if before.phase is Phase.CLOSED and ticket == before.ticket:
            self._called(verdict, slow=slow)
        elif probe:
            self._probed(before, FAILED if slow else verdict)
        else:
            assert self.state is before
        self._moved(before)
        if self.state.phase is Phase.OPEN and before.phase is not Phase.OPEN:
            self._opened(draw)

    def _called(self, verdict: Verdict, *, slow: bool) -> None:
        if verdict is not IGNORED:
            self.calls.append((self.law.slot(self.now), verdict is FAILED, slow))
            self.streak = self.streak + 1 if verdict is FAILED else 0
        trips = (slow or verdict is FAILED) and self._too_bad()
        assert self.state.phase is (Phase.OPEN if trips else Phase.CLOSED)
        assert self.state.streak == (0 if trips else self.streak)

    def _too_bad(self) -> bool:
        if self.law.failures is not None and self.streak >= self.law.failures:
            return True
        oldest = self.law.slot(self.now) - SLICES
        recent = [(failed, slow) for slot, failed, slow in self.calls if slot > oldest]
        if len(recent) < self.law.minimum:
            return False
        failed, slow = sum(one for one, _ in recent), sum(one for _, one in recent)
        return (self.law.rate is not None and failed / len(recent) >= self.law.rate) or (
            self.law.slow is not None and slow / len(recent) >= self.law.slow_rate
        )

    def _probed(self, before: BreakerState, verdict: Verdict) -> None:
        passed = before.passed + (verdict is PASSED)
        failed = before.failed + (verdict is FAILED)
        if passed > self.law.probes / 2:
            assert self.state.phase is Phase.CLOSED
        elif failed >= self.law.probes / 2:
            assert self.state.phase is Phase.OPEN
        else:
            assert self.state.phase is Phase.HALF_OPEN
            assert (self.state.passed, self.state.failed) == (passed, failed)
            assert len(self.state.leases) == len(before.leases) - 1

    def _opened(self, draw: float) -> None:
        self.openings += 1
        longest = min(60, 10 * self.law.growth ** (self.openings - 1))
        assert self.state.openings == self.openings
        took = self.state.open_until - self.now
        assert took == pytest.approx(longest * (1 - self.law.jitter * draw), abs=1e-9)
        assert took <= longest + 1e-9

    def _moved(self, before: BreakerState) -> None:
        after = self.state
        assert after.serial >= before.serial
        if after.phase is not before.phase:
            assert after.phase in MOVES[before.phase]
            assert after.serial > before.serial
        if after.phase is Phase.CLOSED and before.phase is not Phase.CLOSED:
            self.calls, self.streak, self.openings = [], 0, 0
            assert after.ticket not in self.given

    @rule()
    def somebody_resets_it(self) -> None:
        before, self.state = self.state, closed(self.state)
        self._moved(before)
        self.calls, self.streak, self.openings = [], 0, 0
        assert self.state.ticket == before.serial + 1

    @invariant()
    def no_more_probes_are_out_than_were_leased(self) -> None:
        state = self.state
        if state.phase is Phase.HALF_OPEN:
            assert len(state.leases) + state.passed + state.failed <= self.law.probes
        else:
            assert (state.leases, state.passed, state.failed) == ((), 0, 0)

    @invariant()
    def there_is_one_ticket_when_it_is_closed_and_none_otherwise(self) -> None:
        assert bool(self.state.ticket) is (self.state.phase is Phase.CLOSED)

    @invariant()
    def it_can_never_be_wedged(self) -> None:
        """Whatever is lost: at `retry_at` somebody is let through, and not before."""
        if self.state.phase is Phase.CLOSED:
            return
        then = retry_at(self.law, self.state)
        assert then <= max(self.state.open_until, self.now + self.law.lease)
        assert admit(self.law, self.state, max(then, self.now))[1] is not None
        if then > self.now:
            assert admit(self.law, self.state, math.nextafter(then, 0))[1] is None

    @invariant()
    def the_window_is_kept_only_where_it_is_asked_for(self) -> None:
        if self.state.window.slices:
            assert self.law.windowed


TestLife = Life.TestCase
TestLife.settings = settings(stateful_step_count=40)

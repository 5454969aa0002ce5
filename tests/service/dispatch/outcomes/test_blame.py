"""What a lane remembers of deliveries that failed, until it is known whose failure it was."""

import random
from collections.abc import Container
from itertools import count as count_up

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.core.blame import Whose
from tarry.core.pace import Phase
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.outcomes.blame import DELIVERIES, TYPES, LaneBlame
from tarry.service.dispatch.outcomes.judge import Ruling, Verdict
from tarry.service.model.delivery import ENDED, Reason, State
from tarry.service.model.lane import Due
from tarry.testing.samples import NOON, a_due

DUE = a_due(seq=4, attempts=2, tries=6)
OTHER = a_due(seq=5)
FAILED, REFUSED, HELD = Verdict.FAILED, Verdict.REFUSED, Verdict.HELD
CLOSED, OPEN, PACED = Phase
TIMES = (NOON - 2 + number / 1e6 for number in count_up())
"""What happens in these tests happens one thing after the other."""


def failed(  # noqa: PLR0913  what a failure is judged by
    lane: LaneBlame,
    due: Due = DUE,
    verdict: Verdict = FAILED,
    *,
    phase: Phase = CLOSED,
    shared: bool = False,
    in_a_row: int = 0,
    now: float = NOON,
) -> int | None:
    """How many failures the gate counts; the last success was a second ago."""
    return lane.failed(
        due,
        verdict,
        phase=phase,
        shared=shared,
        in_a_row=in_a_row,
        accepted_at=now - 1,
        now=now,
    )


def whose(
    lane: LaneBlame,
    due: Due = DUE,
    verdict: Verdict = FAILED,
    *,
    phase: Phase = CLOSED,
    now: float = NOON,
) -> Whose:
    return lane.whose(due, verdict, phase=phase, accepted_at=now - 1, now=now)


def count(lane: LaneBlame, due: Due = DUE, verdict: Verdict = FAILED) -> None:
    """Remember a failure that counts."""
    ruling = Ruling(State.WAITING, Reason.BACKOFF, due.attempts + 1, due_at=NOON + 10)
    lane.remember(due, verdict, ruling, next(TIMES))


def slow(lane: LaneBlame, due: Due = DUE, pause: float = 0.25) -> None:
    """Remember a failure that is put down to the pace."""
    ruling = Ruling(State.READY, Reason.PACE, due.attempts, counted=False, pause=pause)
    lane.remember(due, FAILED, ruling, next(TIMES))


def accept(lane: LaneBlame, due: Due) -> None:
    """Take in a success; it was sent after all that happened before."""
    lane.succeeded(due, next(TIMES))


def refunds(lane: LaneBlame, busy: Container[int] = ()) -> list[tuple[int, int, int]]:
    """Return which deliveries get attempts back, with their attempts and tries."""
    return [(seq, one.attempts, one.tries) for seq, one in lane.take_refunds(busy)]


def end(lane: LaneBlame, due: Due = DUE, state: State = State.DELIVERED) -> None:
    lane.remember(due, Verdict.ACCEPTED, Ruling(state, Reason.DELIVERED, due.attempts + 1), NOON)


# --- Answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [(HELD, Whose.ENDPOINT), (REFUSED, Whose.UNKNOWN), (FAILED, Whose.UNKNOWN)],
)
def test_each_failure_has_somebody_to_blame(verdict: Verdict, expected: Whose) -> None:
    assert whose(LaneBlame(), DUE, verdict) is expected


def test_what_fails_again_after_a_success_of_another_is_the_messages() -> None:
    lane = LaneBlame()
    assert failed(lane) == 1
    count(lane)
    assert (failed(lane), whose(lane)) == (1, Whose.UNKNOWN)
    accept(lane, OTHER)
    assert (failed(lane), whose(lane)) == (None, Whose.MESSAGE)
    assert (failed(lane, a_due(seq=6)), whose(lane, a_due(seq=6))) == (1, Whose.UNKNOWN)


def test_a_delivery_that_goes_on_failing_counts_again_until_another_is_accepted() -> None:
    """The endpoint may have gone down since: the next failure needs a success of its own."""
    lane = LaneBlame()
    count(lane)
    accept(lane, OTHER)
    assert (failed(lane), whose(lane)) == (None, Whose.MESSAGE)
    count(lane)
    assert (failed(lane), whose(lane)) == (1, Whose.UNKNOWN)
    accept(lane, OTHER)
    assert (failed(lane), whose(lane)) == (None, Whose.MESSAGE)


def test_what_is_refused_again_after_a_success_of_another_is_the_messages() -> None:
    lane = LaneBlame()
    count(lane, verdict=REFUSED)
    assert whose(lane, DUE, REFUSED) is Whose.UNKNOWN
    accept(lane, OTHER)
    assert failed(lane, DUE, REFUSED) is None
    assert whose(lane, DUE, REFUSED) is Whose.MESSAGE
    assert whose(lane, OTHER, REFUSED) is Whose.UNKNOWN


def test_a_refusal_of_a_type_that_was_never_accepted_says_nothing_of_who_accepts_others() -> None:
    lane = LaneBlame()
    lost = a_due(event_type="invoice.lost")
    assert failed(lane, lost, REFUSED, phase=PACED, now=NOON - 5) == 1
    accept(lane, a_due(event_type="invoice.paid"))
    assert failed(lane, lost, REFUSED, phase=PACED) is None
    assert failed(lane, a_due(event_type="invoice.paid"), REFUSED, phase=PACED) == 1
    accept(lane, lost)
    assert failed(lane, lost, REFUSED, phase=PACED) == 1


def test_a_type_that_only_fails_says_nothing_of_who_accepts_others() -> None:
    lane = LaneBlame()
    counted = [failed(lane, a_due(seq=seq), now=NOON - 9 + seq) for seq in range(5)]
    accept(lane, replace(OTHER, event_type="another"))
    counted += [failed(lane, a_due(seq=seq)) for seq in range(5, 9)]
    assert counted == [1] * 5 + [None] * 4
    assert failed(lane, replace(DUE, event_type="a third")) == 1
    accept(lane, OTHER)
    assert failed(lane) == 1


def test_an_outage_is_the_endpoints_although_a_failure_of_the_type_was_the_messages() -> None:
    lane = LaneBlame()
    assert failed(lane, a_due(seq=1), now=NOON - 9) == 1
    accept(lane, replace(OTHER, event_type="another"))
    assert [failed(lane, a_due(seq=seq)) for seq in range(2, 12)] == [1] * 10


def test_what_is_throttled_says_nothing_about_its_type() -> None:
    lane = LaneBlame()
    for _ in range(9):
        failed(lane, DUE, HELD, now=NOON - 5)
    assert failed(lane) == 1


def test_refusals_of_a_type_count_once_nothing_was_accepted_since_the_first() -> None:
    lane = LaneBlame()
    accept(lane, replace(OTHER, event_type="another"))
    assert failed(lane, DUE, REFUSED, phase=PACED) == 1
    assert failed(lane, DUE, REFUSED, phase=PACED) == 1


def test_refusals_are_counted_until_a_success() -> None:
    lane = LaneBlame()
    for _ in range(3):
        failed(lane, DUE, REFUSED)
    assert lane.refusals == 3
    accept(lane, DUE)
    assert lane.refusals == 0


def test_failures_are_counted_until_a_success_or_another_phase() -> None:
    lane = LaneBlame()
    for _ in range(2):
        failed(lane)
    assert lane.failures == 2
    lane.phase_changed(PACED, failed=False)
    assert lane.failures == 0
    failed(lane, phase=PACED)
    assert lane.failures == 1
    accept(lane, DUE)
    assert lane.failures == 0


def test_the_fifth_in_a_row_counts_for_all_if_there_were_refusals() -> None:
    lane = LaneBlame()
    assert failed(lane, in_a_row=RULE.failures - 1) == 1
    assert failed(lane, DUE, REFUSED, in_a_row=RULE.failures - 2) == 0
    assert failed(lane, in_a_row=RULE.failures - 1) == RULE.failures
    assert failed(lane, in_a_row=RULE.failures - 1, shared=True) == 1


def test_where_what_failed_fails_again_while_others_are_accepted_most_failures_are_spared() -> None:
    lane = LaneBlame()
    second_failures = []
    for seq in range(100, 300):
        bad = a_due(seq=seq)
        failed(lane, bad, phase=PACED)
        slow(lane, bad)
        accept(lane, a_due(seq=seq + 1000))
        second_failures.append(failed(lane, bad, phase=PACED))
    assert second_failures[0] == 1
    assert second_failures[100:] == [None] * 100
    assert whose(lane, a_due(seq=299), phase=PACED) is Whose.MESSAGE
    counts = []
    for seq in range(100):
        counts.append(failed(lane, a_due(seq=3000 + seq), phase=PACED))
        accept(lane, a_due(seq=4000 + seq))
    assert counts.count(0) > 70
    lane.start_over()
    assert failed(lane, a_due(seq=9999), phase=PACED) == 1


def test_where_what_failed_is_accepted_the_next_time_no_failure_is_spared() -> None:
    lane = LaneBlame()
    for seq in range(100, 300):
        late = a_due(seq=seq)
        assert failed(lane, late, phase=PACED) == 1
        slow(lane, late)
        accept(lane, a_due(seq=seq + 1000))
        accept(lane, late)
        end(lane, late)
    assert whose(lane, phase=PACED) is Whose.PACE


# --- What is remembered -------------------------------------------------------------------------


def test_failures_at_a_pace_are_counted_and_the_last_pause_holds() -> None:
    lane = LaneBlame()
    assert (lane.slowed(DUE), lane.pause(DUE)) == (0, None)
    slow(lane)
    slow(lane, pause=0.5)
    assert (lane.slowed(DUE), lane.pause(DUE)) == (2, 0.5)
    assert lane.slowed(OTHER) == 0


def test_after_three_failures_at_a_pace_the_attempt_counts() -> None:
    lane = LaneBlame()
    found = []
    for _ in range(5):
        found.append(whose(lane, phase=PACED))
        slow(lane)
    assert found == [Whose.PACE] * 3 + [Whose.UNKNOWN] * 2


def test_failures_at_a_pace_are_forgotten_when_the_lane_closes() -> None:
    lane = LaneBlame()
    slow(lane)
    count(lane, OTHER)
    lane.phase_changed(CLOSED, failed=True)
    assert (lane.slowed(DUE), lane.pause(DUE)) == (0, None)
    lane.phase_changed(OPEN, failed=True)
    assert [seq for seq, _ in lane.take_refunds(())] == [5]


@pytest.mark.parametrize("state", sorted(ENDED))
def test_what_has_ended_is_forgotten(state: State) -> None:
    lane = LaneBlame()
    count(lane, verdict=REFUSED)
    slow(lane)
    end(lane, DUE, state)
    accept(lane, OTHER)
    assert (whose(lane), whose(lane, DUE, REFUSED)) == (Whose.UNKNOWN, Whose.UNKNOWN)
    lane.phase_changed(OPEN, failed=True)
    assert lane.slowed(DUE) == 0
    assert lane.take_refunds(()) == []


def test_refusals_of_an_outage_are_over_when_the_lane_is_paced() -> None:
    lane = LaneBlame()
    for _ in range(7):
        failed(lane, DUE, REFUSED, phase=OPEN)
    lane.phase_changed(OPEN, failed=True)
    assert lane.refusals == 7
    lane.phase_changed(PACED, failed=False)
    assert lane.refusals == 1
    accept(lane, DUE)
    lane.phase_changed(PACED, failed=False)
    assert lane.refusals == 0


def test_of_another_endpoint_in_its_place_nothing_is_known() -> None:
    lane = LaneBlame()
    for _ in range(RULE.failures):
        failed(lane, now=NOON - 5)
    failed(lane, DUE, REFUSED)
    count(lane, verdict=REFUSED)
    count(lane)
    slow(lane)
    accept(lane, a_due(seq=5, event_type="another"))
    assert [failed(lane), failed(lane, DUE, REFUSED)] == [None, None]
    lane.start_over()
    assert (lane.refusals, lane.failures, lane.slowed(DUE)) == (0, 0, 0)
    assert [failed(lane), failed(lane, DUE, REFUSED, phase=PACED)] == [1, 1]


def test_what_failed_elsewhere_is_not_the_messages_and_given_back_if_the_lane_opens() -> None:
    lane = LaneBlame()
    accept(lane, OTHER)
    count(lane)
    count(lane, a_due(seq=6))
    lane.start_over()
    end(lane, a_due(seq=6))
    lane.phase_changed(OPEN, failed=True)
    assert refunds(lane) == [(4, 2, 7)]
    accept(lane, OTHER)
    assert whose(lane) is Whose.UNKNOWN


# --- Attempts that are given back ---------------------------------------------------------------


@pytest.mark.parametrize("phase", [OPEN, PACED])
def test_what_failed_right_before_the_lane_opened_gets_its_attempt_back(phase: Phase) -> None:
    lane = LaneBlame()
    count(lane)
    assert lane.take_refunds(()) == []
    lane.phase_changed(phase, failed=True)
    assert refunds(lane) == [(4, 2, 7)]
    assert lane.take_refunds(()) == []


def test_of_several_failures_all_attempts_come_back() -> None:
    lane = LaneBlame()
    count(lane)
    count(lane, a_due(seq=4, attempts=3, tries=7))
    lane.phase_changed(OPEN, failed=True)
    assert refunds(lane) == [(4, 2, 8)]


@pytest.mark.parametrize(("phase", "failing"), [(CLOSED, True), (PACED, False)])
def test_a_lane_that_does_not_fail_gives_nothing_back(
    phase: Phase,
    failing: bool,  # noqa: FBT001  a parameter
) -> None:
    lane = LaneBlame()
    count(lane)
    lane.phase_changed(phase, failed=failing)
    assert lane.take_refunds(()) == []


def test_what_failed_before_a_success_was_its_own_failure() -> None:
    lane = LaneBlame()
    count(lane)
    accept(lane, OTHER)
    lane.phase_changed(OPEN, failed=True)
    assert lane.take_refunds(()) == []


def test_a_success_that_was_sent_before_a_failure_says_nothing_about_it() -> None:
    lane = LaneBlame()
    sent_at = next(TIMES)
    count(lane)
    lane.succeeded(OTHER, sent_at)  # a slow answer of an endpoint that has gone down since
    assert whose(lane) is Whose.UNKNOWN
    lane.phase_changed(OPEN, failed=True)
    assert refunds(lane) == [(4, 2, 7)]


def test_what_was_given_back_is_not_the_messages_failure() -> None:
    lane = LaneBlame()
    count(lane)
    lane.phase_changed(OPEN, failed=True)
    accept(lane, OTHER)
    assert whose(lane) is Whose.UNKNOWN
    assert refunds(lane) == [(4, 2, 7)]


def test_what_cost_no_attempt_gets_none_back() -> None:
    lane = LaneBlame()
    lane.remember(DUE, FAILED, Ruling(State.READY, Reason.LANE_OPEN, 2, counted=False), NOON)
    slow(lane, OTHER)
    lane.phase_changed(OPEN, failed=True)
    assert lane.take_refunds(()) == []


def test_what_is_busy_gets_its_attempts_back_later() -> None:
    lane = LaneBlame()
    for seq in (4, 5, 6):
        count(lane, a_due(seq=seq))
    lane.phase_changed(OPEN, failed=True)
    assert refunds(lane, {4, 6}) == [(5, 0, 1)]
    assert refunds(lane, {6}) == [(4, 0, 1)]
    assert refunds(lane) == [(6, 0, 1)]


def test_what_is_on_its_way_gets_its_attempts_back_with_its_answer_and_only_then() -> None:
    lane = LaneBlame()
    count(lane)
    lane.phase_changed(OPEN, failed=True)
    flying = a_due(seq=4, attempts=3, tries=7)
    assert lane.refunded(flying) == a_due(seq=4, attempts=2, tries=7)
    assert lane.refunded(flying) is flying
    assert lane.take_refunds(()) == []


class Story:
    """A lane of three deliveries, and the attempts that they ought to have."""

    def __init__(self) -> None:
        self.lane = LaneBlame()
        self.dues = {seq: a_due(seq=seq) for seq in (1, 2, 3)}
        self.kept = dict.fromkeys(self.dues, 0)
        """The attempts that each had at the last success: no opening may cost more."""

    def fail(self, seq: int) -> None:
        due = self.lane.refunded(self.dues[seq])
        count(self.lane, due)
        self.dues[seq] = replace(due, attempts=due.attempts + 1, tries=due.tries + 1)

    def succeed(self) -> None:
        self._give_back()
        accept(self.lane, a_due(seq=99))
        self.kept = {seq: due.attempts for seq, due in self.dues.items()}

    def open(self, busy: int) -> None:
        self.lane.phase_changed(OPEN, failed=True)
        self._give_back(busy)

    def _give_back(self, busy: int = 0) -> None:
        for seq, charge in self.lane.take_refunds({busy}):
            assert charge.tries == self.dues[seq].tries
            self.dues[seq] = replace(self.dues[seq], attempts=charge.attempts)


@given(steps=st.lists(st.integers(0, 9), max_size=60))
def test_a_lane_that_opens_costs_no_delivery_an_attempt_since_the_last_success(
    steps: list[int],
) -> None:
    story = Story()
    for step in steps:
        if step < 6:
            story.fail(step % 3 + 1)
        elif step == 6:
            story.succeed()
        else:
            story.open(busy=step - 6)
    story.open(busy=0)
    assert {seq: due.attempts for seq, due in story.dues.items()} == story.kept


# --- Bounds -------------------------------------------------------------------------------------


def test_a_delivery_beyond_the_bound_costs_an_attempt_with_each_failure() -> None:
    lane = LaneBlame()
    for seq in range(DELIVERIES):
        slow(lane, a_due(seq=seq))
    known, beyond = a_due(seq=0), a_due(seq=DELIVERIES)
    for due in (known, beyond):
        count(lane, due)
    slow(lane, known)
    assert (lane.slowed(known), lane.pause(beyond)) == (2, None)
    assert whose(lane, known, phase=PACED) is Whose.PACE
    assert whose(lane, beyond, phase=PACED) is Whose.UNKNOWN
    lane.phase_changed(OPEN, failed=True)
    assert [seq for seq, _ in lane.take_refunds(())] == [0]
    end(lane, known)
    slow(lane, beyond)
    assert (lane.slowed(beyond), lane.pause(beyond)) == (1, 0.25)


@given(seed=st.integers(0, 10_000))
def test_what_is_forgotten_costs_one_attempt_more_or_less_with_each_failure(seed: int) -> None:
    """A lane that remembers is compared with one that forgot the delivery."""
    chance = random.Random(seed)
    lane, forgetful = LaneBlame(), LaneBlame()
    for _ in range(20):
        for each in (lane, forgetful):
            accept(each, OTHER)
        chance.choice((count, slow))(lane)
        verdict, phase = chance.choice((FAILED, HELD)), chance.choice(list(Phase))
        free = {Whose.PACE, Whose.ENDPOINT}
        counted = [whose(each, DUE, verdict, phase=phase) not in free for each in (lane, forgetful)]
        assert phase is PACED or counted[0] == counted[1]
        assert whose(forgetful, DUE, REFUSED) is not Whose.MESSAGE


def test_types_beyond_the_bound_are_never_known_to_fail() -> None:
    lane = LaneBlame()
    for number in range(TYPES + 1):
        accept(lane, a_due(event_type=str(number)))
    last, beyond = a_due(event_type=str(TYPES - 1)), a_due(event_type=str(TYPES))
    for _ in range(RULE.failures):
        failed(lane, last, now=NOON - 5)
        failed(lane, beyond, now=NOON - 5)
    assert (failed(lane, last), failed(lane, beyond)) == (None, 1)


def ignores(lane: LaneBlame, due: Due) -> bool:
    return lane.ignores(due, accepted_at=NOON - 1, now=NOON)


def test_a_success_is_ignored_where_a_failure_of_the_delivery_would_say_nothing() -> None:
    lane = LaneBlame()
    assert not ignores(lane, DUE)
    count(lane)
    assert not ignores(lane, DUE)
    accept(lane, OTHER)
    assert ignores(lane, DUE)  # it failed before the endpoint accepted another
    assert not ignores(lane, OTHER)


def test_a_success_is_ignored_where_its_event_type_only_failed_so_far() -> None:
    lane = LaneBlame()
    for seq in range(5):
        failed(lane, a_due(seq=seq), now=NOON - 9 + seq)
    new = a_due(seq=99)
    assert not ignores(lane, new)
    accept(lane, replace(OTHER, event_type="another"))
    assert ignores(lane, new)
    assert not ignores(lane, replace(new, event_type="a third"))

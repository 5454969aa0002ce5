"""What becomes of a delivery: by the answer, by whose failure it is, and by its policy."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Exponential, Fixed
from tarry.core.blame import Whose
from tarry.core.jitter import Decorrelated, NoJitter
from tarry.core.outcome import Kind
from tarry.core.pace import Phase
from tarry.core.policy import Policy
from tarry.service.dispatch.outcomes.judge import Judgement, Verdict
from tarry.service.dispatch.outcomes.ruling import (
    SPREAD,
    Fault,
    Ruling,
    hold_until,
    rule,
    rule_end,
    rule_resent,
)
from tarry.service.model.delivery import ENDED, LIVE, Reason, State
from tarry.service.model.lane import Due
from tarry.service.model.settings import DAY, DELIVERY
from tarry.testing.samples import NOON, a_due

CLOSED = Fault(Whose.UNKNOWN, Phase.CLOSED)
PACED = Fault(Whose.PACE, Phase.PACED)
OPEN = Fault(Whose.ENDPOINT, Phase.OPEN)
FAILED = Judgement(Verdict.FAILED, Kind.TRANSIENT)
REFUSED = Judgement(Verdict.REFUSED, Kind.PERMANENT)
HELD = Judgement(Verdict.HELD, Kind.THROTTLED)
ASKED = Judgement(Verdict.HELD, Kind.THROTTLED, asked=30.0)


def ruled(  # noqa: PLR0913  what a ruling is made from
    judgement: Judgement,
    fault: Fault = CLOSED,
    policy: Policy = DELIVERY,
    *,
    due: Due | None = None,
    age: float = 1.0,
    draw: Callable[[], float] = lambda: 0.5,
) -> Ruling:
    due = due or a_due(attempts=2, memory=7.0)
    return rule(due, judgement, fault, policy, started_at=NOON - age, now=NOON, draw=draw)


@pytest.mark.parametrize("fault", [CLOSED, PACED, OPEN, Fault(Whose.MESSAGE, Phase.PACED, 9)])
@pytest.mark.parametrize(
    ("verdict", "state", "reason"),
    [
        (Verdict.TAKEN, State.DELIVERED, Reason.DELIVERED),
        (Verdict.UNFIT, State.FAILED, Reason.REFUSED),
        (Verdict.ABORTED, State.FAILED, Reason.ABORTED),
        (Verdict.GONE, State.FAILED, Reason.GONE),
    ],
)
def test_what_the_receiver_decided_is_final_whosever_failure_it_is(
    fault: Fault, verdict: Verdict, state: State, reason: Reason
) -> None:
    found = ruled(Judgement(verdict), fault, age=math.inf)
    assert found == Ruling(state, reason, attempts=3, decision=state)


@pytest.mark.parametrize("phase", Phase)
def test_one_that_is_throttled_keeps_its_attempts_and_its_place(phase: Phase) -> None:
    found = ruled(HELD, Fault(Whose.ENDPOINT, phase))
    assert (found.state, found.reason, found.counted) == (State.READY, Reason.PACE, False)
    assert (found.attempts, found.memory, found.due_at) == (2, 7.0, None)


@pytest.mark.parametrize("phase", [Phase.PACED, Phase.OPEN])
def test_one_that_is_held_waits_for_its_lane(phase: Phase) -> None:
    found = ruled(ASKED, Fault(Whose.ENDPOINT, phase, held_until=NOON + 31))
    assert (found.state, found.reason, found.pause) == (State.READY, Reason.RETRY_AFTER, None)
    assert found.due_at is None


def test_one_that_is_held_by_a_healthy_lane_waits_as_long_as_the_lane() -> None:
    found = ruled(ASKED, Fault(Whose.ENDPOINT, Phase.CLOSED, held_until=NOON + 31))
    assert (found.state, found.reason, found.counted) == (State.WAITING, Reason.RETRY_AFTER, False)
    assert (found.attempts, found.due_at) == (2, NOON + 31)


@pytest.mark.parametrize("draw", [0.0, 0.5, 1.0])
def test_a_hold_is_as_long_as_was_asked_for_and_a_little_longer_by_chance(draw: float) -> None:
    assert hold_until(ASKED, now=NOON, draw=draw) == NOON + 30 * (1 + SPREAD * draw)


@pytest.mark.parametrize(
    "judgement", [HELD, FAILED, Judgement(Verdict.FAILED, Kind.THROTTLED, asked=30.0)]
)
def test_nothing_is_held_unless_a_throttled_request_was_told_until_when(
    judgement: Judgement,
) -> None:
    assert hold_until(judgement, now=NOON, draw=0.5) is None


@pytest.mark.parametrize("asked", [None, 0.0])
def test_one_that_is_throttled_without_being_told_until_when_waits_longer_each_time(
    asked: float | None,
) -> None:
    held = Judgement(Verdict.HELD, Kind.THROTTLED, asked=asked)
    faults = [Fault(Whose.ENDPOINT, Phase.CLOSED, slowed) for slowed in range(8)]
    waits = [ruled(held, fault).pause or 0.0 for fault in faults]
    assert waits == sorted(waits)
    assert waits[0] >= 0.125
    assert 1.0 <= waits[-1] <= 2.0


@pytest.mark.parametrize("judgement", [FAILED, REFUSED])
def test_an_open_lane_takes_the_blame_for_every_failure(judgement: Judgement) -> None:
    found = ruled(judgement, OPEN, age=math.inf)
    assert (found.state, found.reason) == (State.READY, Reason.LANE_OPEN)
    assert (found.attempts, found.counted, found.memory) == (2, False, 7.0)
    assert (found.due_at, found.pause) == (None, None)


@pytest.mark.parametrize("phase", [Phase.CLOSED, Phase.PACED])
def test_a_refusal_that_is_the_messages_is_final(phase: Phase) -> None:
    found = ruled(REFUSED, Fault(Whose.MESSAGE, phase))
    assert (found.state, found.reason, found.attempts) == (State.FAILED, Reason.REFUSED, 3)
    assert found.counted


@pytest.mark.parametrize("phase", [Phase.CLOSED, Phase.PACED])
def test_a_refusal_that_may_be_the_endpoints_is_tried_again(phase: Phase) -> None:
    found = ruled(REFUSED, Fault(Whose.UNKNOWN, phase))
    assert (found.state, found.reason, found.attempts) == (State.WAITING, Reason.BACKOFF, 3)
    assert found.pause is None


@pytest.mark.parametrize("kind", [Kind.BLOCKED, Kind.REFUSED, Kind.PERMANENT])
def test_what_its_owner_may_mend_is_tried_again(kind: Kind) -> None:
    assert ruled(Judgement(Verdict.FAILED, kind)).state is State.WAITING


@pytest.mark.parametrize(("slowed", "least", "most"), [(0, 0.125, 0.25), (1, 0.25, 0.5)])
def test_a_failure_at_a_pace_costs_a_pause_and_no_attempt(
    slowed: int, least: float, most: float
) -> None:
    fault = Fault(Whose.PACE, Phase.PACED, slowed)
    soonest, latest = ruled(FAILED, fault, draw=lambda: 0.0), ruled(FAILED, fault, draw=lambda: 1.0)
    for found in (soonest, latest):
        assert (found.state, found.reason) == (State.READY, Reason.PACE)
        assert (found.attempts, found.counted, found.due_at) == (2, False, None)
        assert found.memory == 7.0
    assert soonest.pause == pytest.approx(least)
    assert latest.pause == pytest.approx(most)


@pytest.mark.parametrize("whose", [Whose.MESSAGE, Whose.UNKNOWN])
@pytest.mark.parametrize("phase", [Phase.CLOSED, Phase.PACED])
def test_a_failure_that_may_be_the_messages_counts(whose: Whose, phase: Phase) -> None:
    found = ruled(FAILED, Fault(whose, phase))
    assert (found.state, found.counted, found.attempts) == (State.WAITING, True, 3)


def test_its_own_failure_counts_and_waits_as_its_policy_says() -> None:
    policy = DELIVERY.replace(backoff=Fixed(40), jitter=NoJitter())
    found = ruled(FAILED, CLOSED, policy)
    said = "again in 40.000 s"
    waits = Ruling(State.WAITING, Reason.BACKOFF, 3, due_at=NOON + 40, decision=said)
    assert found == waits


def test_the_wait_depends_on_how_many_attempts_were_counted() -> None:
    policy = DELIVERY.replace(jitter=NoJitter())
    waits = [ruled(FAILED, CLOSED, policy, due=a_due(attempts=n)).due_at for n in range(3)]
    assert waits == [NOON + 10, NOON + 30, NOON + 120]


def test_the_jitter_gets_back_what_it_remembers() -> None:
    policy = Policy(backoff=Exponential(base=2, cap=1000), jitter=Decorrelated(), within=None)
    found = ruled(FAILED, CLOSED, policy, draw=lambda: 0.25)  # a quarter of the way from 2 to 3 x 7
    assert (found.due_at, found.memory) == (NOON + 6.75, 6.75)
    asked = Judgement(Verdict.FAILED, Kind.THROTTLED, asked=5.0)
    assert ruled(asked, CLOSED, policy).memory == 7.0


def test_a_wait_that_was_asked_for_is_the_least_that_one_waits() -> None:
    found = ruled(Judgement(Verdict.FAILED, Kind.THROTTLED, asked=300.0), draw=lambda: 0.0)
    assert (found.state, found.reason) == (State.WAITING, Reason.RETRY_AFTER)
    assert found.due_at == NOON + 300


def test_the_last_attempt_that_its_policy_allows_ends_it() -> None:
    policy = DELIVERY.replace(attempts=3)
    assert ruled(FAILED, CLOSED, policy, due=a_due(attempts=1)).state is State.WAITING
    last = ruled(FAILED, CLOSED, policy, due=a_due(attempts=2))
    assert (last.state, last.reason, last.attempts) == (State.FAILED, Reason.EXHAUSTED, 3)
    assert last.decision == "given up: all attempts are used up"


def test_one_that_would_go_again_too_late_is_too_old() -> None:
    policy = DELIVERY.replace(jitter=NoJitter())
    assert ruled(FAILED, CLOSED, policy, age=5 * DAY - 120).state is State.WAITING
    found = ruled(FAILED, CLOSED, policy, age=5 * DAY - 119)
    assert (found.state, found.reason, found.attempts) == (State.FAILED, Reason.AGED, 3)


FAULTS = st.builds(
    Fault,
    st.sampled_from(Whose),
    st.sampled_from(Phase),
    st.integers(0, 5),
    st.floats(NOON, NOON + 4000),
)
JUDGEMENTS = st.builds(
    Judgement,
    st.sampled_from(Verdict),
    st.none() | st.sampled_from(Kind),
    st.none() | st.floats(0, 3600),
)


@given(
    fault=FAULTS,
    judgement=JUDGEMENTS,
    attempts=st.integers(0, 12),
    age=st.floats(0, 10 * DAY),
    draw=st.floats(0, 1, exclude_max=True),
)
def test_whatever_happens_one_attempt_counts_at_the_most_and_no_wait_is_in_the_past(
    fault: Fault, judgement: Judgement, attempts: int, age: float, draw: float
) -> None:
    due = a_due(attempts=attempts, memory=3.0)
    found = ruled(judgement, fault, due=due, age=age, draw=lambda: draw)

    assert found.attempts == attempts + found.counted
    assert (found.due_at is not None) is (found.state is State.WAITING)
    assert found.due_at is None or found.due_at >= NOON
    if found.due_at is not None and found.counted:  # others end by their age while they wait
        assert found.due_at <= NOON - age + 5 * DAY + 1e-6
    assert found.pause is None or (found.state is State.READY and 0 < found.pause <= 2)
    assert found.state in (LIVE if not found.counted else ENDED | {State.WAITING})
    assert found.decision
    if fault.whose is Whose.ENDPOINT and found.state in ENDED:
        assert judgement.verdict in {Verdict.TAKEN, Verdict.UNFIT, Verdict.ABORTED, Verdict.GONE}


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict.TAKEN, Reason.DELIVERED),
        (Verdict.UNFIT, Reason.REFUSED),
        (Verdict.ABORTED, Reason.ABORTED),
        (Verdict.GONE, Reason.GONE),
        (Verdict.REFUSED, Reason.EXHAUSTED),
        (Verdict.HELD, Reason.EXHAUSTED),
        (Verdict.FAILED, Reason.EXHAUSTED),
    ],
)
def test_a_resend_is_tried_once(verdict: Verdict, reason: Reason) -> None:
    assert rule_resent(Judgement(verdict)) is reason


@pytest.mark.parametrize("verdict", list(Verdict))
def test_an_answer_that_ends_a_delivery_needs_no_one_to_blame(verdict: Verdict) -> None:
    due, judgement = a_due(attempts=2, memory=7.0), Judgement(verdict, Kind.PERMANENT)
    ending = rule_end(due, judgement)
    if verdict in {Verdict.FAILED, Verdict.REFUSED, Verdict.HELD}:
        assert ending is None
    else:
        assert ending == ruled(judgement, due=due)
        assert ending.state in ENDED

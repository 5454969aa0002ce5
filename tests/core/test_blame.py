"""Whose failure it is: the table of cases, row by row, and what holds for all of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.blame import (
    AT_PACE,
    FINAL_WITHIN,
    Blame,
    FailedAttempt,
    Trouble,
    Whose,
    accept,
    blame,
    learn,
)
from tarry.core.blame_facts import (
    ACCEPTED_TYPE,
    CLEAN,
    HEALTHY_WITHIN,
    UNSEEN,
    Charge,
    DeliveryFacts,
    EventTypeFacts,
    LaneFacts,
)
from tarry.core.pace import PacerRule, Phase
from tarry.core.second_tries import NO_TRIES, SecondTries

RULE = PacerRule()
NOW = 1000.0
FAILED, REFUSED, THROTTLED = Trouble
CLOSED, OPEN, PACED = Phase

HEALTHY = LaneFacts(
    accepted_sent_at=NOW - 1.5,
    accepted_at=NOW - 1,
    types={"paid": ACCEPTED_TYPE, "unwanted": UNSEEN.fail(NOW - 2, enough=RULE.failures)},
)
"""It accepted a message a second ago."""
DOWN = HEALTHY.replace(accepted_at=NOW - HEALTHY_WITHIN)
"""It accepted nothing for a minute."""
MOSTLY_OWN = SecondTries(firsts=100, recent=0.1, usual=0.1, tried=90, failed=90, expected=9)
OFTEN_OWN = MOSTLY_OWN.replace(failed=60)
CREDIT = NO_TRIES.replace(credit=1.0)
ONLY_FAILS = EventTypeFacts(
    accepted=False, failures=RULE.failures, failing_since=NOW - 3, only_fails_since=NOW - 2
)

FAILED_BEFORE = DeliveryFacts(failed_at=NOW - 2)
FAILED_SINCE = DeliveryFacts(failed_at=NOW - 1.2)
SLOWED_BEFORE = DeliveryFacts(slowed=1, slowed_at=NOW - 2)
SLOWED_SINCE = DeliveryFacts(slowed=1, slowed_at=NOW - 1.2)
SLOWED_OFTEN = DeliveryFacts(slowed=AT_PACE, slowed_at=NOW - 1.2)
REFUSED_BEFORE = DeliveryFacts(refused_at=NOW - 2)
REFUSED_SINCE = DeliveryFacts(refused_at=NOW - 1.2)

MESSAGE = Blame(Whose.MESSAGE, None)
ENDPOINT = Blame(Whose.ENDPOINT, 1)
UNKNOWN = Blame(Whose.UNKNOWN, 1)
UNSAID = Blame(Whose.UNKNOWN, None)
PACE = Blame(Whose.PACE, 1)


def judged(  # noqa: PLR0913  what a failure is judged by
    trouble: Trouble,
    phase: Phase,
    lane: LaneFacts = HEALTHY,
    delivery: DeliveryFacts = CLEAN,
    *,
    event_type: str = "paid",
    shared: bool = False,
) -> Blame:
    attempt = FailedAttempt(trouble, event_type, phase, NOW, shared=shared)
    return blame(RULE, lane, delivery, attempt)


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("delivery", [CLEAN, FAILED_BEFORE, SLOWED_BEFORE, REFUSED_BEFORE])
def test_an_endpoint_that_throttles_has_failed(phase: Phase, delivery: DeliveryFacts) -> None:
    assert judged(THROTTLED, phase, HEALTHY, delivery) == ENDPOINT


@pytest.mark.parametrize("trouble", [FAILED, REFUSED])
@pytest.mark.parametrize("delivery", [CLEAN, FAILED_BEFORE, SLOWED_BEFORE, REFUSED_BEFORE])
@pytest.mark.parametrize("lane", [HEALTHY, DOWN, LaneFacts()])
def test_while_a_lane_is_open_each_failure_is_the_endpoints(
    trouble: Trouble, delivery: DeliveryFacts, lane: LaneFacts
) -> None:
    assert judged(trouble, OPEN, lane, delivery) == ENDPOINT


# --- Refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [CLOSED, PACED])
def test_a_refusal_is_the_messages_if_another_was_accepted_since_the_first_one(
    phase: Phase,
) -> None:
    assert judged(REFUSED, phase, HEALTHY, REFUSED_BEFORE) == MESSAGE
    assert judged(REFUSED, phase, HEALTHY, REFUSED_SINCE).whose is Whose.UNKNOWN
    assert judged(REFUSED, phase, HEALTHY, CLEAN).whose is Whose.UNKNOWN
    assert judged(REFUSED, phase, HEALTHY, FAILED_BEFORE).whose is Whose.UNKNOWN


@pytest.mark.parametrize(
    ("since", "whose"),
    [(1, Whose.MESSAGE), (FINAL_WITHIN - 1, Whose.MESSAGE), (FINAL_WITHIN, Whose.UNKNOWN)],
)
def test_a_success_of_long_ago_makes_no_refusal_final(since: float, whose: Whose) -> None:
    lane = HEALTHY.replace(accepted_at=NOW - since)
    delivery = DeliveryFacts(refused_at=NOW - FINAL_WITHIN - 9)
    assert judged(REFUSED, CLOSED, lane, delivery).whose is whose


@pytest.mark.parametrize(
    ("event_type", "lane", "expected"),
    [
        (UNSEEN.fail(NOW - 2, enough=RULE.failures), HEALTHY, UNSAID),
        (UNSEEN.fail(NOW - 2, enough=RULE.failures), DOWN, UNKNOWN),
        (UNSEEN.fail(NOW - 1.2, enough=RULE.failures), HEALTHY, UNKNOWN),
        (ACCEPTED_TYPE.fail(NOW - 2, enough=RULE.failures), HEALTHY, UNKNOWN),
        (UNSEEN, HEALTHY, UNKNOWN),
    ],
)
def test_a_refusal_is_the_types_if_the_endpoint_never_accepted_it_but_others_since(
    event_type: EventTypeFacts, lane: LaneFacts, expected: Blame
) -> None:
    known = lane.replace(types={"lost": event_type})
    assert judged(REFUSED, PACED, known, event_type="lost") == expected
    closed = Blame(expected.whose, None if expected is UNSAID else 0)
    assert judged(REFUSED, CLOSED, known, event_type="lost") == closed


def test_a_single_refusal_counts_nothing_for_a_closed_gate_and_one_for_a_paced_gate() -> None:
    assert judged(REFUSED, CLOSED) == Blame(Whose.UNKNOWN, 0)
    assert judged(REFUSED, PACED) == UNKNOWN


@pytest.mark.parametrize(("phase", "whose"), [(PACED, Whose.UNKNOWN), (OPEN, Whose.ENDPOINT)])
def test_a_refusal_counts_nothing_for_the_gate_of_an_origin(phase: Phase, whose: Whose) -> None:
    assert judged(REFUSED, phase, shared=True) == Blame(whose, 0)
    assert judged(REFUSED, CLOSED, shared=True) == Blame(Whose.UNKNOWN, 0)


@pytest.mark.parametrize("trouble", Trouble)
@pytest.mark.parametrize(("in_a_row", "refusals"), [(3, 1), (4, 1), (5, 1), (4, 0)])
def test_five_in_a_row_with_refusals_among_them_count_for_five(
    trouble: Trouble, in_a_row: int, refusals: int
) -> None:
    lane = HEALTHY.replace(in_a_row=in_a_row, refusals=refusals)
    single = 1 if trouble is not REFUSED or in_a_row >= RULE.failures else 0
    counts = RULE.failures if (in_a_row, refusals) == (4, 1) else single
    assert judged(trouble, CLOSED, lane).counts == counts
    assert judged(trouble, PACED, lane).counts == 1
    assert judged(trouble, CLOSED, lane, shared=True).counts == int(trouble is not REFUSED)


def test_what_says_nothing_does_not_complete_a_row_either() -> None:
    lane = HEALTHY.replace(in_a_row=4, refusals=4)
    assert judged(FAILED, CLOSED, lane, FAILED_BEFORE) == MESSAGE
    assert judged(REFUSED, CLOSED, lane, REFUSED_BEFORE) == MESSAGE
    assert judged(REFUSED, CLOSED, lane, event_type="unwanted") == UNSAID


# --- Failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delivery", "closed", "paced"),
    [
        (CLEAN, UNKNOWN, PACE),
        (REFUSED_BEFORE, UNKNOWN, PACE),
        (FAILED_SINCE, UNKNOWN, PACE),
        (FAILED_BEFORE, MESSAGE, MESSAGE),
        (SLOWED_SINCE, UNKNOWN, PACE),
        (SLOWED_BEFORE, UNKNOWN, PACE),
        (SLOWED_OFTEN, UNKNOWN, UNKNOWN),
        (SLOWED_OFTEN.replace(slowed=AT_PACE - 1), UNKNOWN, PACE),
        (SLOWED_OFTEN.replace(slowed_at=NOW - 2), UNKNOWN, UNKNOWN),
    ],
)
def test_a_failure_is_the_messages_if_another_was_accepted_since_the_first_one(
    delivery: DeliveryFacts, closed: Blame, paced: Blame
) -> None:
    assert judged(FAILED, CLOSED, HEALTHY, delivery) == closed
    assert judged(FAILED, PACED, HEALTHY, delivery) == paced


@pytest.mark.parametrize("delivery", [CLEAN, FAILED_BEFORE, SLOWED_BEFORE])
@pytest.mark.parametrize("lane", [DOWN, LaneFacts(accepted_sent_at=NOW - 1.5)])
def test_of_an_endpoint_that_accepted_nothing_for_a_minute_a_failure_says_something(
    delivery: DeliveryFacts, lane: LaneFacts
) -> None:
    assert judged(FAILED, CLOSED, lane, delivery) == UNKNOWN
    assert judged(FAILED, PACED, lane, delivery) == PACE


@pytest.mark.parametrize(
    ("event_type", "expected"),
    [
        (ONLY_FAILS, MESSAGE),
        (ONLY_FAILS.replace(accepted=True), MESSAGE),
        (ONLY_FAILS.replace(failures=RULE.failures - 1, only_fails_since=math.inf), UNKNOWN),
        (ONLY_FAILS.replace(only_fails_since=NOW - 1), UNKNOWN),
    ],
)
def test_a_failure_is_the_messages_if_its_event_type_only_fails(
    event_type: EventTypeFacts, expected: Blame
) -> None:
    lane = HEALTHY.replace(types={"lost": event_type})
    assert judged(FAILED, CLOSED, lane, event_type="lost") == expected
    assert judged(FAILED, CLOSED, lane, event_type="paid") == UNKNOWN


@pytest.mark.parametrize("phase", [CLOSED, PACED])
def test_a_second_failure_is_the_messages_where_most_such_failures_are(phase: Phase) -> None:
    lane = HEALTHY.replace(tries=MOSTLY_OWN)
    assert judged(FAILED, phase, lane, SLOWED_BEFORE) == MESSAGE
    assert judged(FAILED, phase, lane, SLOWED_SINCE).counts == 1


def test_a_second_failure_says_nothing_of_the_pace_where_many_messages_fail_again() -> None:
    lane = HEALTHY.replace(tries=OFTEN_OWN)
    assert judged(FAILED, PACED, lane, SLOWED_BEFORE) == Blame(Whose.PACE, None)
    assert judged(FAILED, PACED, lane, SLOWED_SINCE).counts == 1
    assert judged(FAILED, CLOSED, lane, SLOWED_BEFORE) == UNKNOWN


def test_at_a_pace_a_failure_is_spared_while_there_is_credit() -> None:
    lane = HEALTHY.replace(tries=CREDIT)
    assert judged(FAILED, PACED, lane) == Blame(Whose.PACE, 0, spared=True)
    assert judged(FAILED, PACED, lane, SLOWED_OFTEN) == Blame(Whose.UNKNOWN, 0, spared=True)
    assert judged(FAILED, CLOSED, lane) == UNKNOWN
    assert judged(FAILED, OPEN, lane) == ENDPOINT
    assert judged(FAILED, PACED, lane, SLOWED_BEFORE) == Blame(Whose.PACE, 0, spared=True)
    assert judged(REFUSED, PACED, lane) == UNKNOWN


# --- What the lane learns -----------------------------------------------------------------------


def learned(
    trouble: Trouble,
    phase: Phase,
    delivery: DeliveryFacts = CLEAN,
    *,
    event_type: str = "paid",
) -> LaneFacts:
    return learn(HEALTHY, delivery, FailedAttempt(trouble, event_type, phase, NOW))


@pytest.mark.parametrize("phase", Phase)
def test_refusals_are_counted_unless_they_say_nothing_of_the_endpoint(phase: Phase) -> None:
    says_nothing = 1 if phase is OPEN else 0
    assert learned(REFUSED, phase) == HEALTHY.replace(refusals=1)
    assert learned(REFUSED, phase, REFUSED_BEFORE).refusals == says_nothing
    assert learned(REFUSED, phase, event_type="unwanted").refusals == says_nothing


@pytest.mark.parametrize("phase", Phase)
def test_second_tries_are_counted_in_each_phase_and_first_tries_at_a_pace(phase: Phase) -> None:
    second = HEALTHY.replace(tries=NO_TRIES.second(failed=True))
    first = HEALTHY.replace(tries=NO_TRIES.first(failed=True))
    assert learned(FAILED, phase, SLOWED_BEFORE) == second
    assert learned(FAILED, phase) == (first if phase is PACED else HEALTHY)


@pytest.mark.parametrize("phase", Phase)
def test_from_a_throttled_attempt_and_a_messages_own_failure_nothing_is_learned(
    phase: Phase,
) -> None:
    assert learned(THROTTLED, phase, SLOWED_BEFORE) is HEALTHY
    assert learned(FAILED, phase, FAILED_BEFORE.replace(slowed_at=NOW - 2)) is HEALTHY


# --- What holds for all -------------------------------------------------------------------------

numbers = st.integers(0, 9)
times = st.floats(NOW - 2000, NOW)
types = st.builds(EventTypeFacts, st.booleans(), st.integers(0, 9), times, times)
tries = st.sampled_from([NO_TRIES, CREDIT, MOSTLY_OWN])
lanes = st.builds(
    LaneFacts,
    accepted_sent_at=times,
    accepted_at=times,
    in_a_row=numbers,
    refusals=numbers,
    types=st.dictionaries(st.sampled_from(["paid", "lost"]), types),
    tries=tries,
)
deliveries = st.builds(
    DeliveryFacts,
    refused_at=times | st.just(math.inf),
    failed_at=times | st.just(math.inf),
    slowed=st.integers(0, 5),
    slowed_at=times | st.just(math.inf),
)
attempts = st.builds(
    FailedAttempt,
    st.sampled_from(Trouble),
    st.sampled_from(["paid", "lost"]),
    st.sampled_from(Phase),
    st.just(NOW),
    shared=st.booleans(),
)


@given(lane=lanes, delivery=deliveries, attempt=attempts)
def test_whose_failure_it_is_and_what_the_gate_counts_fit_together(
    lane: LaneFacts, delivery: DeliveryFacts, attempt: FailedAttempt
) -> None:
    found = blame(RULE, lane, delivery, attempt)
    assert found.counts in {None, 0, 1, RULE.failures}
    if attempt.phase is OPEN or attempt.trouble is THROTTLED:
        assert found.whose is Whose.ENDPOINT
        assert found.counts is not None
    else:
        assert found.whose is not Whose.ENDPOINT
    if found.whose is Whose.MESSAGE:
        assert found.counts is None
    if found.whose is Whose.PACE:
        assert attempt.phase is PACED
        assert delivery.slowed < AT_PACE
    if found.counts == RULE.failures:
        assert attempt.phase is CLOSED
        assert not attempt.shared
    if found.spared:
        assert found.counts == 0
        assert lane.tries.spares


@given(lane=lanes, delivery=deliveries, attempt=attempts)
def test_the_lane_learns_only_from_what_the_gate_counts_or_from_a_second_try(
    lane: LaneFacts, delivery: DeliveryFacts, attempt: FailedAttempt
) -> None:
    known = learn(lane, delivery, attempt)
    counts = blame(RULE, known, delivery, attempt).counts
    refused = attempt.trouble is REFUSED and counts is not None
    assert known.refusals == lane.refusals + refused
    second = delivery.slowed_at < lane.accepted_sent_at
    assert known.tries == lane.tries or counts is not None or second


@given(lane=lanes, delivery=deliveries, attempt=attempts)
def test_a_success_of_another_between_two_failures_makes_the_second_one_the_messages(
    lane: LaneFacts, delivery: DeliveryFacts, attempt: FailedAttempt
) -> None:
    if attempt.trouble is REFUSED:
        delivery = delivery.refuse(NOW - 2)
    else:
        delivery = delivery.charge_for(Charge(NOW - 2, 0, 1, "msg_1"), lane.accepted_sent_at)
    lane = lane.replace(accepted_sent_at=NOW - 1, accepted_at=NOW - 0.5)
    found = blame(RULE, lane, delivery, attempt)
    own = attempt.trouble is not THROTTLED and attempt.phase is not OPEN
    refused_since = attempt.trouble is REFUSED and delivery.refused_at >= NOW - 1
    assert (found == MESSAGE) is (own and not refused_since)


@given(lane=lanes, attempt=attempts)
def test_no_refusal_is_final_of_a_delivery_of_which_nothing_is_known(
    lane: LaneFacts, attempt: FailedAttempt
) -> None:
    found = blame(RULE, lane, CLEAN, attempt)
    assert attempt.trouble is not REFUSED or found.whose is not Whose.MESSAGE


@given(lane=lanes, delivery=deliveries, attempt=attempts)
def test_without_a_success_in_ten_minutes_nothing_is_the_messages(
    lane: LaneFacts, delivery: DeliveryFacts, attempt: FailedAttempt
) -> None:
    silent = lane.replace(accepted_at=NOW - FINAL_WITHIN)
    found = blame(RULE, silent, delivery, attempt)
    assert found.whose is not Whose.MESSAGE
    assert found.counts is not None


# --- Successes ----------------------------------------------------------------------------------


def test_a_success_is_a_second_try_if_another_was_accepted_since_the_delivery_failed() -> None:
    tries = NO_TRIES.first(failed=True)
    sent_at = HEALTHY.accepted_sent_at
    assert accept(tries, CLEAN, sent_at) == tries.first(failed=False)
    assert accept(tries, SLOWED_SINCE, sent_at) == tries.first(failed=False)
    assert accept(tries, SLOWED_BEFORE, sent_at) == tries.second(failed=False)
    assert accept(NO_TRIES, SLOWED_BEFORE, sent_at) is NO_TRIES

"""What answers say about a message and an endpoint, and what becomes of the delivery."""

import math
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Exponential, Fixed
from tarry.core.blame import Whose
from tarry.core.jitter import Decorrelated, NoJitter
from tarry.core.outcome import FINAL, Kind
from tarry.core.pace import Phase
from tarry.core.policy import Policy, RetryAfter, Statuses
from tarry.service.dispatch.outcomes.judge import (
    HOLD_SPREAD,
    Fault,
    Judgement,
    Ruling,
    Verdict,
    judge,
    rule,
    rule_end,
    rule_resent,
)
from tarry.service.model.delivery import ENDED, LIVE, Reason, State
from tarry.service.model.lane import Due
from tarry.service.model.settings import DAY, DELIVERY
from tarry.service.wire.exchange import Answer
from tarry.testing.samples import NOON, a_due

# --- What the answer says -----------------------------------------------------------------------


def judged(
    status: int, policy: Policy = DELIVERY, *, draw: float = 0.5, **headers: str
) -> Judgement:
    said = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return judge(Answer(0.1, status=status, headers=said), policy, now=NOON, wall=NOON, draw=draw)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(399, Verdict.FAILED), (400, Verdict.UNFIT), (499, Verdict.UNFIT), (500, Verdict.FAILED)],
)
def test_a_status_that_a_policy_does_not_name_is_retried_unless_the_request_is_at_fault(
    status: int, verdict: Verdict
) -> None:
    names_none = DELIVERY.replace(statuses=Statuses(retry=(), never=()))
    assert judged(status, names_none).verdict is verdict


@pytest.mark.parametrize(
    ("status", "verdict", "kind"),
    [
        (199, Verdict.FAILED, Kind.TRANSIENT),
        (200, Verdict.ACCEPTED, None),
        (204, Verdict.ACCEPTED, None),
        (299, Verdict.ACCEPTED, None),
        (300, Verdict.FAILED, Kind.TRANSIENT),
        (302, Verdict.FAILED, Kind.TRANSIENT),
        (399, Verdict.FAILED, Kind.TRANSIENT),
        (400, Verdict.UNFIT, Kind.PERMANENT),
        (401, Verdict.REFUSED, Kind.PERMANENT),
        (402, Verdict.UNFIT, Kind.PERMANENT),
        (403, Verdict.REFUSED, Kind.PERMANENT),
        (404, Verdict.REFUSED, Kind.PERMANENT),
        (405, Verdict.REFUSED, Kind.PERMANENT),
        (408, Verdict.FAILED, Kind.TIMEOUT),
        (410, Verdict.GONE, Kind.PERMANENT),
        (413, Verdict.UNFIT, Kind.PERMANENT),
        (422, Verdict.UNFIT, Kind.PERMANENT),
        (425, Verdict.FAILED, Kind.TRANSIENT),
        (429, Verdict.HELD, Kind.THROTTLED),
        (499, Verdict.UNFIT, Kind.PERMANENT),
        (500, Verdict.FAILED, Kind.TRANSIENT),
        (501, Verdict.FAILED, Kind.TRANSIENT),
        (502, Verdict.FAILED, Kind.TRANSIENT),
        (503, Verdict.FAILED, Kind.TRANSIENT),
        (504, Verdict.FAILED, Kind.TIMEOUT),
        (599, Verdict.FAILED, Kind.TRANSIENT),
    ],
)
def test_each_status_has_its_verdict(status: int, verdict: Verdict, kind: Kind | None) -> None:
    assert judged(status) == Judgement(verdict, kind)


@pytest.mark.parametrize("kind", [Kind.DNS, Kind.TRANSIENT, Kind.TIMEOUT, Kind.REFUSED])
@pytest.mark.parametrize("unreachable", [False, True])
def test_without_an_answer_it_failed_and_tells_whether_anybody_was_there(
    kind: Kind, *, unreachable: bool
) -> None:
    found = judge(
        Answer(0.1, failure=kind, unreachable=unreachable), DELIVERY, now=NOON, wall=NOON, draw=0.5
    )
    assert found == Judgement(Verdict.FAILED, kind, unreachable=unreachable)


def test_a_failure_counts_more_than_a_status_that_came_before_it() -> None:
    found = judge(
        Answer(0.1, status=200, failure=Kind.PROTOCOL), DELIVERY, now=NOON, wall=NOON, draw=0.5
    )
    assert (found.verdict, found.kind) == (Verdict.FAILED, Kind.PROTOCOL)


def test_nothing_at_all_is_an_answer_that_breaks_the_protocol() -> None:
    found = judge(Answer(0.1), DELIVERY, now=NOON, wall=NOON, draw=0.5)
    assert (found.verdict, found.kind) == (Verdict.FAILED, Kind.PROTOCOL)


def test_an_endpoint_that_answers_is_reachable_whatever_it_answers() -> None:
    assert not any(judged(status).unreachable for status in range(100, 600))


@pytest.mark.parametrize("status", [200, 404, 429, 500])
@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("disable", Verdict.GONE),
        (" Disable ", Verdict.GONE),
        ("abort-message", Verdict.ABORTED),
        ("ABORT-MESSAGE", Verdict.ABORTED),
    ],
)
def test_a_receiver_may_say_what_it_wants_with_any_status(
    status: int, said: str, verdict: Verdict
) -> None:
    assert judged(status, webhook_delivery=said) == Judgement(verdict, Kind.PERMANENT)


def test_a_word_that_nobody_agreed_on_changes_nothing() -> None:
    assert judged(200, webhook_delivery="later").verdict is Verdict.ACCEPTED
    assert judged(500, webhook_delivery="later").verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("verdict", "alive"),
    [
        (Verdict.ACCEPTED, True),
        (Verdict.UNFIT, True),
        (Verdict.ABORTED, True),
        (Verdict.GONE, False),
        (Verdict.REFUSED, False),
        (Verdict.HELD, False),
        (Verdict.FAILED, False),
    ],
)
def test_an_endpoint_is_alive_that_decides_about_a_message(
    verdict: Verdict, *, alive: bool
) -> None:
    assert Judgement(verdict).endpoint_works is alive


@pytest.mark.parametrize("verdict", Verdict)
def test_a_refusal_is_about_one_endpoint_alone_until_others_say_so(verdict: Verdict) -> None:
    assert Judgement(verdict).concerns_endpoint_alone is (
        verdict in {Verdict.REFUSED, Verdict.GONE}
    )


def test_a_policy_may_retry_what_is_final_by_default() -> None:
    lenient = DELIVERY.replace(statuses=Statuses(retry=(404, 410, 422), never=()))
    found = [judged(status, lenient).verdict for status in (404, 410, 422)]
    assert found == [Verdict.FAILED] * 3


def test_a_policy_may_take_for_final_what_is_retried_by_default() -> None:
    strict = DELIVERY.replace(statuses=Statuses(retry=(), never=(302, 429, 500)))
    found = [judged(status, strict).verdict for status in (302, 429, 500, 501, 408)]
    assert found == [Verdict.UNFIT, Verdict.UNFIT, Verdict.UNFIT, Verdict.FAILED, Verdict.UNFIT]


def test_a_gone_endpoint_is_gone_although_a_policy_does_not_name_it() -> None:
    silent = DELIVERY.replace(statuses=Statuses(retry=(), never=()))
    assert judged(410, silent).verdict is Verdict.GONE


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, Kind.THROTTLED),
        (503, Kind.THROTTLED),
        (500, Kind.TRANSIENT),
        (504, Kind.TIMEOUT),
        (302, Kind.TRANSIENT),
    ],
)
def test_a_wait_that_is_asked_for_goes_with_any_failure(status: int, kind: Kind) -> None:
    found = judged(status, retry_after="30")
    assert (found.kind, found.asked) == (kind, 30.0)


def test_a_wait_may_be_asked_for_as_a_date() -> None:
    assert judged(503, retry_after="Fri, 15 Jan 2027 08:00:45 GMT").asked == 45.0


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
def test_a_date_is_read_by_the_wall_clock_also_after_that_was_set(step: float) -> None:
    date = formatdate(NOON + step + 30, usegmt=True)
    answer = Answer(0.1, status=503, headers=(("retry-after", date),))
    assert judge(answer, DELIVERY, now=NOON, wall=NOON + step, draw=0.5).asked == 30.0


def test_a_date_is_read_by_the_clock_of_who_wrote_it() -> None:
    slow = "Fri, 15 Jan 2027 07:30:00 GMT"
    asked = judged(503, retry_after="Fri, 15 Jan 2027 07:30:45 GMT", date=slow).asked
    assert asked == 45.0
    assert judged(503, retry_after="Fri, 15 Jan 2027 08:00:45 GMT", date="noon").asked == 45.0


def test_too_many_may_also_be_told_when_a_rate_limit_is_filled_up_again() -> None:
    assert judged(429, ratelimit_reset="20").asked == 20.0
    assert judged(429, ratelimit_reset="20", retry_after="30").asked == 30.0
    assert judged(503, ratelimit_reset="20").asked is None


@pytest.mark.parametrize("status", [200, 400, 404, 410])
def test_a_wait_means_nothing_where_nothing_is_waited_for(status: int) -> None:
    assert judged(status, retry_after="30").asked is None


def test_a_wait_that_cannot_be_read_is_no_wait() -> None:
    assert judged(503, retry_after="soon") == judged(503)


def test_a_wait_is_cut_to_what_the_policy_goes_along_with() -> None:
    policy = DELIVERY.replace(retry_after=RetryAfter(at_most=90))
    found = [judged(429, policy, retry_after=text).asked for text in ("89", "90", "91", "9999999")]
    assert found == [89.0, 90.0, 90.0, 90.0]


def test_a_policy_may_not_care_for_waits_at_all() -> None:
    policy = DELIVERY.replace(retry_after=RetryAfter(honour=False))
    assert judged(429, policy, retry_after="30") == Judgement(Verdict.HELD, Kind.THROTTLED)
    assert judged(503, policy, retry_after="30") == Judgement(Verdict.FAILED, Kind.TRANSIENT)


@given(
    status=st.none() | st.integers(100, 599),
    failure=st.none() | st.sampled_from(Kind),
    said=st.none() | st.text(max_size=20),
    wait=st.none() | st.text(max_size=20) | st.integers(-5, 10**9).map(str),
)
def test_whatever_comes_back_the_judgement_makes_sense(
    status: int | None, failure: Kind | None, said: str | None, wait: str | None
) -> None:
    told = {"webhook-delivery": said, "retry-after": wait}
    headers = tuple((name, value) for name, value in told.items() if value is not None)
    found = judge(
        Answer(0.1, status, headers, failure=failure), DELIVERY, now=NOON, wall=NOON, draw=0.5
    )

    assert (found.kind is None) is (found.verdict is Verdict.ACCEPTED)
    assert found.asked is None or 0 <= found.asked <= DELIVERY.retry_after.at_most
    assert found.asked is None or found.verdict in {Verdict.HELD, Verdict.FAILED}
    if failure is None:
        final = found.verdict not in {Verdict.ACCEPTED, Verdict.HELD, Verdict.FAILED}
        assert (found.kind in FINAL) is (status is not None and final)


# --- What becomes of the delivery ---------------------------------------------------------------

CLOSED = Fault(Whose.UNKNOWN, Phase.CLOSED)
PACED = Fault(Whose.PACE, Phase.PACED)
OPEN = Fault(Whose.ENDPOINT, Phase.OPEN)
FAILED = Judgement(Verdict.FAILED, Kind.TRANSIENT)
REFUSED = Judgement(Verdict.REFUSED, Kind.PERMANENT)
HELD = Judgement(Verdict.HELD, Kind.THROTTLED)
ASKED = Judgement(Verdict.HELD, Kind.THROTTLED, asked=30.0, held_until=NOON + 31)


def ruled(  # noqa: PLR0913  what a ruling is made from
    judgement: Judgement,
    fault: Fault = CLOSED,
    policy: Policy = DELIVERY,
    *,
    due: Due | None = None,
    age: float = 1.0,
    draw: float = 0.5,
) -> Ruling:
    due = due or a_due(attempts=2, memory=7.0)
    return rule_end(due, judgement) or rule(
        due, judgement, fault, policy, started_at=NOON - age, now=NOON, draw=draw
    )


@pytest.mark.parametrize("fault", [CLOSED, PACED, OPEN, Fault(Whose.MESSAGE, Phase.PACED, 9)])
@pytest.mark.parametrize(
    ("verdict", "state", "reason"),
    [
        (Verdict.ACCEPTED, State.DELIVERED, Reason.DELIVERED),
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
    assert found.decision == "kept because the endpoint got too many requests"


@pytest.mark.parametrize("phase", [Phase.PACED, Phase.OPEN])
def test_one_that_is_held_waits_for_its_lane(phase: Phase) -> None:
    found = ruled(ASKED, Fault(Whose.ENDPOINT, phase))
    assert (found.state, found.reason, found.pause) == (State.READY, Reason.RETRY_AFTER, None)
    assert found.due_at is None


def test_one_that_is_held_by_a_healthy_lane_waits_as_long_as_the_lane() -> None:
    found = ruled(ASKED, Fault(Whose.ENDPOINT, Phase.CLOSED))
    assert (found.state, found.reason, found.counted) == (State.WAITING, Reason.RETRY_AFTER, False)
    assert (found.attempts, found.due_at) == (2, NOON + 31)


@pytest.mark.parametrize("draw", [0.0, 0.5, 1.0])
def test_a_hold_is_as_long_as_was_asked_for_and_a_little_longer_by_chance(draw: float) -> None:
    asked = judged(429, draw=draw, retry_after="30")
    assert asked.held_until == NOON + 30 * (1 + HOLD_SPREAD * draw)


@pytest.mark.parametrize("judgement", [judged(429), judged(500), judged(503, retry_after="30")])
def test_nothing_is_held_unless_a_throttled_request_was_told_until_when(
    judgement: Judgement,
) -> None:
    assert judgement.held_until is None


@pytest.mark.parametrize("asked", [None, 0.0])
def test_one_that_is_throttled_without_being_told_until_when_waits_longer_each_time(
    asked: float | None,
) -> None:
    held = Judgement(Verdict.HELD, Kind.THROTTLED, asked=asked)
    faults = [Fault(Whose.ENDPOINT, Phase.CLOSED, slowed) for slowed in range(8)]
    waits = [ruled(held, fault).pause or 0.0 for fault in faults]
    assert waits == sorted(waits)
    assert 0.125 <= waits[0] <= 0.25
    assert 1.0 <= waits[-1] <= 2.0


@pytest.mark.parametrize("judgement", [FAILED, REFUSED])
def test_an_open_lane_takes_the_blame_for_every_failure(judgement: Judgement) -> None:
    found = ruled(judgement, OPEN, age=math.inf)
    assert (found.state, found.reason) == (State.READY, Reason.LANE_OPEN)
    assert (found.attempts, found.counted, found.memory) == (2, False, 7.0)
    assert (found.due_at, found.pause) == (None, None)
    assert found.decision == "kept until the endpoint is back"


@pytest.mark.parametrize("phase", [Phase.CLOSED, Phase.PACED])
def test_a_refusal_that_is_the_messages_is_final(phase: Phase) -> None:
    found = ruled(REFUSED, Fault(Whose.MESSAGE, phase))
    assert (found.state, found.reason, found.attempts) == (State.FAILED, Reason.REFUSED, 3)
    assert found.counted
    assert found.decision == "refused permanently"


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
    soonest, latest = ruled(FAILED, fault, draw=0.0), ruled(FAILED, fault, draw=1.0)
    for found in (soonest, latest):
        assert (found.state, found.reason) == (State.READY, Reason.PACE)
        assert (found.attempts, found.counted, found.due_at) == (2, False, None)
        assert found.memory == 7.0
    assert soonest.pause == pytest.approx(least)
    assert latest.pause == pytest.approx(most)
    assert latest.decision == "kept while the endpoint recovers"


@pytest.mark.parametrize("whose", [Whose.MESSAGE, Whose.UNKNOWN])
@pytest.mark.parametrize("phase", [Phase.CLOSED, Phase.PACED])
def test_a_failure_that_may_be_the_messages_counts(whose: Whose, phase: Phase) -> None:
    found = ruled(FAILED, Fault(whose, phase))
    assert (found.state, found.counted, found.attempts) == (State.WAITING, True, 3)


def test_its_own_failure_counts_and_waits_as_its_policy_says() -> None:
    policy = DELIVERY.replace(backoff=Fixed(40), jitter=NoJitter())
    found = ruled(FAILED, CLOSED, policy)
    said = "retry in 40.000 s"
    waits = Ruling(State.WAITING, Reason.BACKOFF, 3, due_at=NOON + 40, decision=said)
    assert found == waits


def test_the_wait_depends_on_how_many_attempts_were_counted() -> None:
    policy = DELIVERY.replace(jitter=NoJitter())
    waits = [ruled(FAILED, CLOSED, policy, due=a_due(attempts=n)).due_at for n in range(3)]
    assert waits == [NOON + 10, NOON + 30, NOON + 120]


def test_the_jitter_gets_back_what_it_remembers() -> None:
    policy = Policy(backoff=Exponential(base=2, cap=1000), jitter=Decorrelated(), within=None)
    found = ruled(FAILED, CLOSED, policy, draw=0.25)  # a quarter of the way from 2 to 3 x 7
    assert (found.due_at, found.memory) == (NOON + 6.75, 6.75)
    asked = Judgement(Verdict.FAILED, Kind.THROTTLED, asked=5.0)
    assert ruled(asked, CLOSED, policy).memory == 7.0


def test_a_wait_that_was_asked_for_is_the_least_that_one_waits() -> None:
    found = ruled(Judgement(Verdict.FAILED, Kind.THROTTLED, asked=300.0), draw=0.0)
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
)
JUDGEMENTS = st.builds(
    Judgement,
    st.sampled_from(Verdict),
    st.none() | st.sampled_from(Kind),
    st.none() | st.floats(0, 3600),
    held_until=st.floats(NOON, NOON + 4000),
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
    found = ruled(judgement, fault, due=due, age=age, draw=draw)

    assert found.attempts == attempts + found.counted
    assert (found.due_at is not None) is (found.state is State.WAITING)
    assert found.due_at is None or found.due_at >= NOON
    if found.due_at is not None and found.counted:  # others end by their age while they wait
        assert found.due_at <= NOON - age + 5 * DAY + 1e-6
    assert found.pause is None or (found.state is State.READY and 0 < found.pause <= 2)
    assert found.state in (LIVE if not found.counted else ENDED | {State.WAITING})
    assert found.decision
    if fault.whose is Whose.ENDPOINT and found.state in ENDED:
        assert judgement.verdict in {Verdict.ACCEPTED, Verdict.UNFIT, Verdict.ABORTED, Verdict.GONE}


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict.ACCEPTED, Reason.DELIVERED),
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

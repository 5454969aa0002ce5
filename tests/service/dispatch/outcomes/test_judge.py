"""What answers say about a message and about an endpoint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.outcome import FINAL, Kind
from tarry.core.policy import Policy, RetryAfter, Statuses
from tarry.service.dispatch.outcomes.judge import Judgement, Verdict, judge
from tarry.service.model.settings import DELIVERY
from tarry.service.wire.exchange import Answer
from tarry.testing.samples import NOON


def judged(status: int, policy: Policy = DELIVERY, **headers: str) -> Judgement:
    said = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return judge(Answer(0.1, status=status, headers=said), policy, now=NOON)


@pytest.mark.parametrize(
    ("status", "verdict", "kind"),
    [
        (199, Verdict.FAILED, Kind.TRANSIENT),
        (200, Verdict.TAKEN, None),
        (204, Verdict.TAKEN, None),
        (299, Verdict.TAKEN, None),
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
    found = judge(Answer(0.1, failure=kind, unreachable=unreachable), DELIVERY, now=NOON)
    assert found == Judgement(Verdict.FAILED, kind, unreachable=unreachable)


def test_a_failure_counts_more_than_a_status_that_came_before_it() -> None:
    found = judge(Answer(0.1, status=200, failure=Kind.PROTOCOL), DELIVERY, now=NOON)
    assert (found.verdict, found.kind) == (Verdict.FAILED, Kind.PROTOCOL)


def test_nothing_at_all_is_an_answer_that_breaks_the_protocol() -> None:
    found = judge(Answer(0.1), DELIVERY, now=NOON)
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
    assert judged(200, webhook_delivery="later").verdict is Verdict.TAKEN
    assert judged(500, webhook_delivery="later").verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("verdict", "alive"),
    [
        (Verdict.TAKEN, True),
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
    assert Judgement(verdict).alive is alive


@pytest.mark.parametrize("verdict", Verdict)
def test_a_refusal_is_about_one_endpoint_alone_until_others_say_so(verdict: Verdict) -> None:
    assert Judgement(verdict).private is (verdict in {Verdict.REFUSED, Verdict.GONE})


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
    found = judge(Answer(0.1, status, headers, failure=failure), DELIVERY, now=NOON)

    assert (found.kind is None) is (found.verdict is Verdict.TAKEN)
    assert found.asked is None or 0 <= found.asked <= DELIVERY.retry_after.at_most
    assert found.asked is None or found.verdict in {Verdict.HELD, Verdict.FAILED}
    if failure is None:
        final = found.verdict not in {Verdict.TAKEN, Verdict.HELD, Verdict.FAILED}
        assert (found.kind in FINAL) is (status is not None and final)

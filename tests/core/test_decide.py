import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Exponential, Fixed
from tarry.core.decide import decide
from tarry.core.jitter import Decorrelated, Full, NoJitter, Smooth
from tarry.core.outcome import (
    FINAL,
    Again,
    Decision,
    Done,
    Failure,
    GiveUp,
    Kind,
    Outcome,
    Pending,
    Success,
    Why,
)
from tarry.core.policy import Policy, RetryAfter
from tarry.core.progress import Progress

PLAIN = Policy(backoff=Exponential(base=1, cap=10), jitter=Full(), attempts=4, within=20)
draws = st.floats(0, 1, exclude_max=True)
moments = st.floats(-1e6, 2e9)


def half() -> float:
    return 0.5


def never() -> float:
    raise AssertionError("nothing is drawn for an end")


@pytest.mark.parametrize(
    ("outcome", "progress", "now", "decision"),
    [
        (Success(), Progress(), 0.0, Done()),
        (Success(), Progress(attempts=9), 1e9, Done()),
        # failures that another attempt may mend, and polls
        (Failure(), Progress(), 0.0, Again(0.5)),
        (Failure(), Progress(attempts=2), 0.0, Again(1.0)),
        (Pending(), Progress(attempts=3), 0.0, Again(2.0)),
        (Failure(Kind.THROTTLED), Progress(), 0.0, Again(0.5)),
        (Failure(Kind.TIMEOUT), Progress(), 0.0, Again(0.5)),
        (Failure(Kind.DNS), Progress(), 0.0, Again(0.5)),
        (Failure(Kind.TLS), Progress(), 0.0, Again(0.5)),
        (Failure(Kind.PROTOCOL), Progress(), 0.0, Again(0.5)),
        # failures that none will mend
        (Failure(Kind.PERMANENT), Progress(), 0.0, GiveUp(Why.NOT_RETRIED)),
        (Failure(Kind.BLOCKED), Progress(), 0.0, GiveUp(Why.NOT_RETRIED)),
        (Failure(Kind.REFUSED), Progress(), 0.0, GiveUp(Why.NOT_RETRIED)),
        (Failure(Kind.PERMANENT, 7.0), Progress(), 0.0, GiveUp(Why.NOT_RETRIED, 7.0)),
        # not safe to repeat; that it is not retried anyway is the better reason
        (Failure(repeatable=False), Progress(), 0.0, GiveUp(Why.NOT_REPEATABLE)),
        (
            Failure(retry_after=7.0, repeatable=False),
            Progress(),
            0,
            GiveUp(Why.NOT_REPEATABLE, 7.0),
        ),
        (Failure(Kind.PERMANENT, None, repeatable=False), Progress(), 0, GiveUp(Why.NOT_RETRIED)),
        # attempts: one left, none left, and past the end
        (Failure(), Progress(attempts=3), 0.0, Again(2.0)),
        (Failure(), Progress(attempts=4), 0.0, GiveUp(Why.ATTEMPTS)),
        (Failure(), Progress(attempts=5), 0.0, GiveUp(Why.ATTEMPTS)),
        (Pending(), Progress(attempts=4), 0.0, GiveUp(Why.ATTEMPTS)),
        (Failure(retry_after=7.0), Progress(attempts=4), 0.0, GiveUp(Why.ATTEMPTS, 7.0)),
        # time: the wait of 0.5 just fits, or just does not
        (Failure(), Progress(), 19.5, Again(0.5)),
        (Failure(), Progress(), 19.500001, GiveUp(Why.WITHIN)),
        (Failure(), Progress(started_at=100.0), 119.5, Again(0.5)),
        (Failure(), Progress(started_at=100.0), 119.500001, GiveUp(Why.WITHIN)),
        (Pending(), Progress(), 21.0, GiveUp(Why.WITHIN)),
        # an end from outside counts when it is earlier, and only then
        (Failure(), Progress(deadline_at=10.0), 9.5, Again(0.5)),
        (Failure(), Progress(deadline_at=10.0), 9.500001, GiveUp(Why.WITHIN)),
        (Failure(), Progress(deadline_at=30.0), 19.5, Again(0.5)),
        (Failure(), Progress(deadline_at=30.0), 19.500001, GiveUp(Why.WITHIN)),
    ],
    ids=str,
)
def test_what_follows_an_attempt(
    outcome: Outcome, progress: Progress, now: float, decision: Decision
) -> None:
    assert decide(PLAIN, progress, outcome, now=now, draw=half) == decision


@pytest.mark.parametrize("kind", sorted(FINAL))
def test_nothing_is_drawn_when_nothing_is_waited_for(kind: Kind) -> None:
    assert decide(PLAIN, Progress(), Failure(kind), now=0, draw=never) == GiveUp(Why.NOT_RETRIED)
    assert decide(PLAIN, Progress(), Success(), now=0, draw=never) == Done()
    assert decide(PLAIN, Progress(4), Failure(), now=0, draw=never) == GiveUp(Why.ATTEMPTS)


def test_without_limits_it_goes_on() -> None:
    policy = PLAIN.replace(attempts=None, within=None)
    progress = Progress(attempts=10**6)
    assert decide(policy, progress, Failure(), now=1e12, draw=half) == Again(5.0)


def test_an_end_from_outside_counts_without_a_limit_of_its_own() -> None:
    policy = PLAIN.replace(within=None)
    progress = Progress(deadline_at=10.0)
    assert decide(policy, progress, Failure(), now=9.5, draw=half) == Again(0.5)
    assert decide(policy, progress, Failure(), now=9.6, draw=half) == GiveUp(Why.WITHIN)


@pytest.mark.parametrize("jitter", [Decorrelated(), Smooth()], ids=str)
def test_the_memory_goes_from_one_decision_to_the_next(jitter: Decorrelated | Smooth) -> None:
    policy = Policy(backoff=Exponential(base=1, cap=10), jitter=jitter)
    first = decide(policy, Progress(), Failure(), now=0, draw=lambda: 0.9)
    assert isinstance(first, Again)
    second = decide(policy, Progress().after(first), Failure(), now=0, draw=lambda: 0.1)
    wait, memory = jitter.wait(policy.backoff, 2, first.memory, 0.1)
    assert second == Again(wait, memory)


# --- Retry-After --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "now", "decision"),
    [
        (0.0, 0.0, Again(0.5)),  # now, but not all at once: the curve is the spread
        (-3.0, 0.0, Again(0.5)),
        (1.0, 0.0, Again(1.5)),
        (2.0, 0.0, Again(2.5)),
        (4.0, 0.0, Again(5.0)),  # half of what was asked is the wider spread
        (8.0, 0.0, Again(10.0)),
        (12.0, 0.0, Again(15.0)),
        (12.000001, 0.0, GiveUp(Why.RETRY_AFTER, 12.000001)),
        (1e300, 0.0, GiveUp(Why.RETRY_AFTER, 1e300)),
        (math.inf, 0.0, GiveUp(Why.RETRY_AFTER, math.inf)),
        (math.nan, 0.0, Again(0.5)),  # means nothing: the policy's own wait
        (4.0, 15.0, Again(4.5)),  # the spread ends where the time does
        (4.0, 16.0, Again(4.0)),
        (4.0, 16.000001, GiveUp(Why.WITHIN, 4.0)),
        (0.0, 20.0, Again(0.0)),
        (0.0, 20.000001, GiveUp(Why.WITHIN, 0.0)),
        (13.0, 19.0, GiveUp(Why.RETRY_AFTER, 13.0)),
    ],
)
def test_a_wait_the_server_asked_for_is_a_floor(
    asked: float, now: float, decision: Decision
) -> None:
    policy = PLAIN.replace(retry_after=RetryAfter(at_most=12))
    outcome = Failure(Kind.THROTTLED, retry_after=asked)
    assert decide(policy, Progress(), outcome, now=now, draw=half) == decision


def test_the_spread_of_a_floor_grows_with_the_curve() -> None:
    outcome = Failure(retry_after=1.0)
    assert decide(PLAIN, Progress(attempts=3), outcome, now=0, draw=half) == Again(3.0)


def test_the_server_s_word_is_ignored_if_the_policy_says_so() -> None:
    policy = PLAIN.replace(retry_after=RetryAfter(honour=False, at_most=1))
    for asked in (0.0, 5.0, math.inf):
        outcome = Failure(retry_after=asked)
        assert decide(policy, Progress(), outcome, now=0, draw=half) == Again(0.5)
    final = Failure(Kind.PERMANENT, retry_after=5.0)
    assert decide(policy, Progress(), final, now=0, draw=half) == GiveUp(Why.NOT_RETRIED)


@pytest.mark.parametrize("memory", [None, 3.5])
def test_a_wait_the_server_asked_for_does_not_feed_the_jitter(memory: float | None) -> None:
    policy = Policy(backoff=Exponential(base=1, cap=10), jitter=Decorrelated())
    progress = Progress(attempts=2, memory=memory)
    decision = decide(policy, progress, Failure(retry_after=30.0), now=0, draw=half)
    assert decision == Again(37.5, memory)


def test_clients_told_the_same_come_back_spread_out() -> None:
    policy = Policy(backoff=Fixed(1), jitter=NoJitter(), within=100)
    outcome = Failure(Kind.THROTTLED, retry_after=30.0)
    waits = []
    for place in range(1_000):
        drawn = iter([place / 1_000])
        decision = decide(policy, Progress(), outcome, now=0, draw=drawn.__next__)
        assert isinstance(decision, Again)
        waits.append(decision.delay)
    assert min(waits) == 30.0
    assert max(waits) == pytest.approx(45, abs=0.02)
    assert len(set(waits)) == 1_000


# --- Properties ---------------------------------------------------------------------------------


@st.composite
def failures(draw: st.DrawFn) -> Failure:
    asked = draw(st.none() | st.floats(-10, 100) | st.sampled_from([math.nan, math.inf, 1e300]))
    return Failure(draw(st.sampled_from(Kind)), asked, draw(st.booleans()))


@given(
    policy=st.from_type(Policy),
    attempts=st.integers(1, 30),
    started_at=moments,
    elapsed=st.floats(0, 100),
    given_until=st.floats(0, 200) | st.just(math.inf),
    outcome=failures() | st.just(Pending()),
    draw=draws,
)
def test_no_wait_ends_after_the_time_is_up(  # noqa: PLR0913, PLR0917  all there is to a decision
    policy: Policy,
    attempts: int,
    started_at: float,
    elapsed: float,
    given_until: float,
    outcome: Outcome,
    draw: float,
) -> None:
    now = started_at + elapsed
    progress = Progress(attempts, started_at, None, started_at + given_until)
    decision = decide(policy, progress, outcome, now=now, draw=lambda: draw)
    if isinstance(decision, Again):
        slack = 4 * math.ulp(abs(now) + 1e3)
        within = math.inf if policy.within is None else policy.within
        assert 0 <= decision.delay < math.inf
        assert now + decision.delay <= started_at + min(within, given_until) + slack
        assert policy.attempts is None or attempts < policy.attempts


@given(policy=st.from_type(Policy), outcome=failures(), draw=draws)
def test_no_wait_is_shorter_than_the_server_asked(
    policy: Policy, outcome: Failure, draw: float
) -> None:
    decision = decide(policy, Progress(), outcome, now=0.0, draw=lambda: draw)
    asked = outcome.retry_after
    if isinstance(decision, Again) and policy.retry_after.honour and asked is not None:
        assert not decision.delay < asked  # NaN asks for nothing
    if isinstance(decision, GiveUp) and decision.why is Why.RETRY_AFTER:
        assert decision.retry_after == asked


@given(policy=st.from_type(Policy), outcome=failures(), draw=draws, now=moments)
def test_the_same_again_gives_the_same_again(
    policy: Policy, outcome: Failure, draw: float, now: float
) -> None:
    progress = Progress(2, now - 1, 0.5)
    once, twice = (decide(policy, progress, outcome, now=now, draw=lambda: draw) for _ in range(2))
    assert once == twice

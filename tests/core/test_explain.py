import math
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Backoff, Exponential, Fibonacci, Fixed, Linear, Schedule
from tarry.core.decide import decide
from tarry.core.explain import Range, Row, explain_decision, schedule, sentences
from tarry.core.jitter import Decorrelated, Equal, Full, Jitter, NoJitter, Percent, Smooth
from tarry.core.outcome import (
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
from tarry.core.policy import Policy, RetryAfter, Statuses, waits
from tarry.core.probe_rule import ProbeRule
from tarry.core.progress import Progress

PLAIN = Policy(backoff=Exponential(base=1, cap=10), jitter=Full(), attempts=4, within=20)
TOP = 1 - 2**-53


def lines(backoff: Backoff, jitter: Jitter, attempts: int) -> list[tuple[float, ...]]:
    policy = Policy(backoff=backoff, jitter=jitter, attempts=attempts)
    return [
        tuple(getattr(span, which) for span in (row.wait, row.total) for which in Range.__fields__)
        for row in schedule(policy)
    ]


# --- The schedule -------------------------------------------------------------------------------


def test_a_row_tells_the_wait_before_an_attempt_and_the_total_up_to_it() -> None:
    assert schedule(PLAIN) == (
        Row(attempt=2, wait=Range(0.0, 0.5, 1.0), total=Range(0.0, 0.5, 1.0)),
        Row(attempt=3, wait=Range(0.0, 1.0, 2.0), total=Range(0.0, 1.5, 3.0)),
        Row(attempt=4, wait=Range(0.0, 2.0, 4.0), total=Range(0.0, 3.5, 7.0)),
    )


@pytest.mark.parametrize(
    ("jitter", "expected"),
    [
        (NoJitter(), [(1, 1, 1, 1, 1, 1), (2, 2, 2, 3, 3, 3), (3, 3, 3, 6, 6, 6)]),
        (
            Equal(),
            [(0.5, 0.75, 1, 0.5, 0.75, 1), (1, 1.5, 2, 1.5, 2.25, 3), (1.5, 2.25, 3, 3, 4.5, 6)],
        ),
        (
            Percent(0.5),
            [(0.5, 1, 1.5, 0.5, 1, 1.5), (1, 2, 3, 1.5, 3, 4.5), (1.5, 3, 4.5, 3, 6, 9)],
        ),
        (Decorrelated(), [(1, 2, 3, 1, 2, 3), (1, 2, 3, 2, 4, 6), (1, 2, 3, 3, 6, 9)]),
        (Decorrelated("outside"), [(1, 2, 3, 1, 2, 3), (1, 3, 3, 2, 5, 6), (1, 3, 3, 3, 8, 9)]),
    ],
    ids=str,
)
def test_the_bounds_of_a_wait_are_the_jitter_s(
    jitter: Jitter, expected: list[tuple[float, ...]]
) -> None:
    assert lines(Linear(step=1, cap=3), jitter, 4) == expected


def line(t: float) -> float:
    return 2**t * math.tanh(math.sqrt(4 * t)) / 1.4


def test_a_smooth_wait_is_least_after_a_late_retry_and_most_after_an_early_one() -> None:
    rows = lines(Exponential(base=1, cap=1_000), Smooth(), 5)
    for window, row in enumerate(rows):
        before = max(0, window - 1)
        typical = line(window + 0.5) - (line(window - 0.5) if window else 0)
        most = line(window + 1) - line(before)
        totals = (line(window), line(window + 0.5), line(window + 1))
        assert row == pytest.approx((0.0, typical, most, *totals), abs=1e-12)


def test_a_smooth_wait_is_at_most_the_ceiling() -> None:
    policy = Policy(backoff=Exponential(base=1, cap=4), jitter=Smooth(), attempts=9)
    assert [row.wait.most for row in schedule(policy)][3:] == pytest.approx([4.0] * 5)


def test_one_attempt_waits_for_nothing() -> None:
    assert schedule(Policy(attempts=1)) == ()
    assert schedule(Policy(attempts=5), attempts=1) == ()


@pytest.mark.parametrize(
    ("own", "asked", "last"),
    [(4, None, 4), (4, 3, 3), (4, 9, 4), (None, None, 11), (None, 3, 3), (None, 50, 50)],
)
def test_the_list_ends_with_the_last_attempt(own: int | None, asked: int | None, last: int) -> None:
    rows = schedule(Policy(attempts=own), asked)
    assert [row.attempt for row in rows] == list(range(2, last + 1))


@given(policy=st.from_type(Policy), chance=st.data())
def test_every_path_lies_within_the_bounds(policy: Policy, chance: st.DataObject) -> None:
    rows = schedule(policy, attempts=6)
    draw = st.floats(0, TOP) | st.sampled_from([0.0, TOP])
    drawn = [chance.draw(draw) for _ in rows]
    total, rounding = 0.0, 1 + 1e-9
    for row, wait in zip(rows, waits(policy, drawn), strict=False):
        total += wait
        assert row.wait.least <= wait * rounding
        assert wait <= row.wait.most * rounding
        assert row.total.least <= total * rounding
        assert total <= row.total.most * rounding


@given(policy=st.from_type(Policy))
def test_least_typical_and_most_are_in_order_and_totals_grow(policy: Policy) -> None:
    rows = schedule(policy, attempts=8)
    for row in rows:
        for span in (row.wait, row.total):
            assert 0 <= span.least <= span.typical * (1 + 1e-9)
            assert span.typical <= span.most * (1 + 1e-9)
    for row, following in pairwise(rows):
        assert following.total.typical == row.total.typical + following.wait.typical


@pytest.mark.parametrize(
    "backoff",
    [Fixed(1), Schedule([1, 0]), Exponential(base=1, cap=3), Exponential(base=1)],
    ids=str,
)
def test_the_least_total_is_reached_and_the_most_is_not_passed(backoff: Backoff) -> None:
    policy = Policy(backoff=backoff, jitter=Smooth(), attempts=7)
    totals = [sum(waits(policy, path)) for path in product((0.0, 0.3, 0.6, TOP), repeat=6)]
    bounds = schedule(policy)[-1].total
    assert min(totals) == pytest.approx(bounds.least)
    assert max(totals) <= bounds.most * (1 + 1e-12)
    assert max(totals) >= bounds.most - 0.4 * backoff.ceiling


# --- Sentences ----------------------------------------------------------------------------------


def test_the_default_policy_in_sentences() -> None:
    assert sentences(Policy()) == [
        "It makes up to 5 attempts, the first included.",
        (
            "The backoff starts at 100 ms and is multiplied by 2 with every failed attempt,"
            " up to 10 s."
        ),
        (
            "Waits are drawn so that the retries of many clients arrive as one even flow;"
            " none is longer than 10 s."
        ),
        (
            "No wait is begun that would end more than 45 s after the start;"
            " with typical waits and attempts that take no time, all attempts fit."
        ),
        (
            "A wait the server asks for (Retry-After) is kept, and a little is added by chance;"
            " if it is longer than 60 s, the call gives up and hands it on."
        ),
        (
            "Of HTTP statuses, 408, 425, 429, 500, 502, 503, 504 and any other 5xx are retried;"
            " 400, 401, 403, 404, 410, 422 and any other 4xx are not."
        ),
        "Inside another retry it makes one attempt.",
    ]


def test_a_policy_of_one_attempt_has_little_to_say() -> None:
    assert sentences(Policy(attempts=1)) == ["It makes one attempt and no retry."]
    assert sentences(Policy(attempts=1, attempt_timeout=2.5)) == [
        "It makes one attempt and no retry.",
        "An attempt is cut off after 2.5 s.",
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"attempts": None}, "It tries without a limit of attempts."),
        ({"attempts": 2}, "It makes up to 2 attempts, the first included."),
        ({"attempts": 10_000}, "It makes up to 10,000 attempts, the first included."),
        ({"backoff": Fixed(2)}, "The backoff is always 2 s."),
        (
            {"backoff": Linear(step=1, cap=9)},
            "The backoff starts at 1 s and grows by 1 s with every failed attempt, up to 9 s.",
        ),
        (
            {"backoff": Exponential(base=1, factor=1.5, cap=9)},
            (
                "The backoff starts at 1 s and is multiplied by 1.5 with every failed attempt,"
                " up to 9 s."
            ),
        ),
        (
            {"backoff": Fibonacci(base=1, cap=9)},
            "The backoff starts at 1 s and grows like 1, 1, 2, 3, 5, 8, up to 9 s.",
        ),
        ({"backoff": Schedule([5])}, "The backoff is always 5 s."),
        ({"backoff": Schedule([5, 30])}, "The backoff is 5 s and then always 30 s."),
        ({"backoff": Schedule([5, 30, 300])}, "The backoff is 5 s, 30 s and then always 5 min."),
        (
            {"jitter": NoJitter()},
            "Every wait is the backoff itself, so clients that fail together meet again.",
        ),
        ({"jitter": Full()}, "A wait is drawn evenly between 0 and the backoff."),
        ({"jitter": Equal()}, "A wait is drawn evenly between half the backoff and the backoff."),
        ({"jitter": Percent(0.2)}, "A wait is the backoff, give or take 20 % by chance."),
        ({"jitter": Percent(0.125)}, "A wait is the backoff, give or take 12.5 % by chance."),
        (
            {"jitter": Decorrelated()},
            "A wait is drawn evenly between 100 ms and three times the wait before, up to 10 s.",
        ),
        (
            {"jitter": Decorrelated("outside")},
            (
                "A wait is drawn evenly between 100 ms and three times the wait before, up to 10 s;"
                " late waits pile up there."
            ),
        ),
        (
            {"jitter": Decorrelated(), "backoff": Fixed(1)},
            "A wait is drawn evenly between 0 and the backoff.",
        ),
        (
            {"jitter": Decorrelated(), "backoff": Schedule([0, 5])},
            "A wait is drawn evenly between 0 and the backoff.",
        ),
        (
            {"jitter": Decorrelated(), "backoff": Linear(step=1, cap=2)},
            "A wait is drawn evenly between 1 s and three times the wait before, up to 2 s.",
        ),
        ({"within": None}, "There is no limit of time."),
        ({"attempt_timeout": 30}, "An attempt is cut off after 30 s."),
        (
            {"retry_after": RetryAfter(honour=False)},
            "A wait the server asks for (Retry-After) is ignored.",
        ),
        (
            {"retry_after": RetryAfter(at_most=3600)},
            (
                "A wait the server asks for (Retry-After) is kept, and a little is added by chance;"
                " if it is longer than 60 min, the call gives up and hands it on."
            ),
        ),
        (
            {"statuses": Statuses(retry=[503, 429], never=[])},
            (
                "Of HTTP statuses, 429, 503 and any other 5xx are retried;"
                " none by name and any other 4xx are not."
            ),
        ),
        (
            {"statuses": Statuses(retry=[], never=[404])},
            (
                "Of HTTP statuses, none by name and any other 5xx are retried;"
                " 404 and any other 4xx are not."
            ),
        ),
        ({"nested": True}, "Inside another retry it retries as well, so the attempts multiply."),
        (
            {"probe": ProbeRule(late=0.1, at_most=900)},
            (
                "The webhook service tries an endpoint that is down ever more rarely: after 10 min,"
                " a probe comes late by at most 10 % of the outage's age (1 % while 1,000"
                " deliveries wait), and by 15 min at most."
            ),
        ),
    ],
    ids=repr,
)
def test_each_setting_has_its_sentence(changes: dict[str, object], sentence: str) -> None:
    said = sentences(Policy().replace(**changes))
    assert sentence in said
    assert len(said) == 7 + ("attempt_timeout" in changes) + ("probe" in changes)


@pytest.mark.parametrize(
    ("attempts", "delay", "within", "ending"),
    [
        (4, 1, 3, "all attempts fit"),
        (4, 1, 2.9, "that ends it after 3 attempts"),
        (4, 1, 2, "that ends it after 3 attempts"),
        (4, 1, 1.9, "that ends it after 2 attempts"),
        (4, 1, 0.9, "that ends it after 1 attempt"),
        (2, 1, 0, "that ends it after 1 attempt"),
        (4, 0, 0, "all attempts fit"),
        (None, 1, 2, "that ends it after 3 attempts"),
        (None, 1, 1_500, "that ends it after 1,501 attempts"),
        (None, 1, 9_998, "that ends it after 9,999 attempts"),
        (None, 1, 9_999, "at least 10,000 attempts fit"),
        (None, 0, 5, "at least 10,000 attempts fit"),
        (20_000, 0, 5, "at least 10,000 attempts fit"),
        (10_000, 0, 5, "all attempts fit"),
        (9_999, 0, 5, "all attempts fit"),
    ],
)
def test_it_says_where_the_time_ends_it(
    attempts: int | None, delay: float, within: float, ending: str
) -> None:
    policy = Policy(attempts=attempts, backoff=Fixed(delay), jitter=NoJitter(), within=within)
    (said,) = (each for each in sentences(policy) if each.startswith("No wait is begun"))
    assert said.endswith(f"; with typical waits and attempts that take no time, {ending}.")


def test_typical_waits_are_those_in_the_middle() -> None:
    policy = Policy(attempts=9, backoff=Fixed(2), jitter=Full(), within=3.5)
    assert any("that ends it after 4 attempts." in said for said in sentences(policy))


@given(policy=st.from_type(Policy).filter(lambda policy: (policy.attempts or 99) < 99))
def test_every_sentence_is_one(policy: Policy) -> None:
    for said in sentences(policy):
        assert said[0].isupper()
        assert said.endswith(".")


# --- Past decisions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "decision", "sentence"),
    [
        (Success(), Done(), "Attempt 2 of 4 succeeded 1.5 s after the start: done."),
        (
            Failure(),
            Again(0.8),
            (
                "Attempt 2 of 4 failed (transient) 1.5 s after the start:"
                " trying again in 800 ms, by Exponential backoff with Full jitter."
            ),
        ),
        (
            Pending(),
            Again(0.8),
            (
                "Attempt 2 of 4 found no result yet 1.5 s after the start:"
                " trying again in 800 ms, by Exponential backoff with Full jitter."
            ),
        ),
        (
            Failure(Kind.THROTTLED, 3.0),
            Again(4.0),
            (
                "Attempt 2 of 4 failed (throttled) 1.5 s after the start:"
                " trying again in 4 s, as the server asked for 3 s."
            ),
        ),
        (
            Failure(Kind.THROTTLED, -3.0),
            Again(4.0),
            (
                "Attempt 2 of 4 failed (throttled) 1.5 s after the start:"
                " trying again in 4 s, as the server asked for 0 s."
            ),
        ),
        (
            Failure(Kind.THROTTLED, math.nan),
            Again(4.0),
            (
                "Attempt 2 of 4 failed (throttled) 1.5 s after the start:"
                " trying again in 4 s, by Exponential backoff with Full jitter."
            ),
        ),
        (
            Failure(Kind.TIMEOUT),
            GiveUp(Why.ATTEMPTS),
            (
                "Attempt 2 of 4 failed (timeout) 1.5 s after the start:"
                " giving up, all attempts are used up."
            ),
        ),
        (
            Failure(Kind.THROTTLED, 300.0),
            GiveUp(Why.RETRY_AFTER, 300.0),
            (
                "Attempt 2 of 4 failed (throttled) 1.5 s after the start: giving up,"
                " the server asked for a longer wait than the policy allows"
                " (the server asked for 5 min)."
            ),
        ),
    ],
    ids=str,
)
def test_a_past_decision_in_one_sentence(
    outcome: Outcome, decision: Decision, sentence: str
) -> None:
    progress = Progress(attempts=2, started_at=10.0)
    assert explain_decision(PLAIN, progress, outcome, decision, 11.5) == sentence


def test_a_past_decision_of_a_policy_that_ignores_the_server() -> None:
    policy = PLAIN.replace(attempts=None, retry_after=RetryAfter(honour=False))
    said = explain_decision(policy, Progress(7), Failure(retry_after=3.0), Again(2.0), -5.0)
    assert said == (
        "Attempt 7 failed (transient) 0 s after the start:"
        " trying again in 2 s, by Exponential backoff with Full jitter."
    )


@given(
    policy=st.from_type(Policy),
    why=st.sampled_from(Why),
    asked=st.none() | st.floats(0, 1e9) | st.just(math.inf),
)
def test_every_end_is_named(policy: Policy, why: Why, asked: float | None) -> None:
    decision = GiveUp(why, asked)
    said = explain_decision(policy, Progress(), Failure(), decision, 1.0)
    assert f"giving up, {why}" in said
    assert ("the server asked for " in said.removeprefix(str(why))) or asked is None


@given(policy=st.from_type(Policy), draw=st.floats(0, TOP), asked=st.none() | st.floats())
def test_what_was_decided_can_be_explained(
    policy: Policy, draw: float, asked: float | None
) -> None:
    progress, outcome = Progress(), Failure(retry_after=asked)
    decision = decide(policy, progress, outcome, now=0.5, draw=lambda: draw)
    said = explain_decision(policy, progress, outcome, decision, 0.5)
    assert said.startswith("Attempt 1")
    assert ("trying again in" in said) == isinstance(decision, Again)

import heapq
from datetime import timedelta
from itertools import count
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.window import Window
from tarry.errors import PolicyError

QUOTA = QuotaRule(capacity=500, cost=5, pay_back=1)
RATIO = RatioRule(ratio=0.1, window=10, bootstrap=10)


def test_a_quota_rule_keeps_its_numbers_as_floats() -> None:
    assert (QUOTA.capacity, QUOTA.cost, QUOTA.pay_back) == (500.0, 5.0, 1.0)
    assert isinstance(QUOTA.cost, float)
    assert QuotaRule(500.0, 5.0, 1.0) == QUOTA


@pytest.mark.parametrize(
    ("settings", "field", "wanted"),
    [
        ((0, 5, 1), "quota.capacity", "a finite number above 0"),
        ((-1, 5, 1), "quota.capacity", "a finite number above 0"),
        ((float("inf"), 5, 1), "quota.capacity", "a finite number above 0"),
        (("500", 5, 1), "quota.capacity", "a finite number above 0"),
        ((500, 0, 1), "quota.cost", "a finite number above 0"),
        ((500, float("nan"), 1), "quota.cost", "a finite number above 0"),
        ((500, 501, 1), "quota.cost", "at most the capacity (500)"),
        ((500, 5, -0.1), "quota.pay_back", "0 or more, and finite"),
        ((500, 5, float("inf")), "quota.pay_back", "0 or more, and finite"),
        ((500, 5, True), "quota.pay_back", "0 or more, and finite"),
    ],
)
def test_a_quota_rule_refuses_nonsense(
    settings: tuple[float, float, float], field: str, wanted: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        QuotaRule(*settings)
    assert (caught.value.field, caught.value.wanted) == (field, wanted)
    assert caught.value.value in settings


def test_a_quota_of_one_retry_that_is_never_paid_back_is_fine() -> None:
    rule = QuotaRule(capacity=5, cost=5, pay_back=0)
    assert rule.spend(5) == 0
    assert rule.spend(0) is None
    assert rule.succeed(0, retried=False) == 0
    assert QuotaRule(0.5, 0.25, 0.1).spend(0.5) == 0.25


@pytest.mark.parametrize(
    ("tokens", "left"), [(500, 495), (5, 0), (4.999, None), (0, None), (5.5, 0.5)]
)
def test_a_retry_costs_what_it_costs_or_is_not_made(tokens: float, left: float | None) -> None:
    assert QUOTA.spend(tokens) == left


@pytest.mark.parametrize(
    ("tokens", "retried", "after"),
    [
        (100, False, 101),
        (100, True, 105),
        (499.5, False, 500),
        (496, True, 500),
        (500, True, 500),
        (0, True, 5),
    ],
)
def test_a_success_pays_back_up_to_the_capacity(
    tokens: float, *, retried: bool, after: float
) -> None:
    assert QUOTA.succeed(tokens, retried=retried) == after


def test_a_ratio_rule_takes_a_timedelta_and_keeps_seconds() -> None:
    rule = RatioRule(0.5, timedelta(minutes=1), 0)
    assert (rule.ratio, rule.window, rule.bootstrap) == (0.5, 60.0, 0)


@pytest.mark.parametrize(
    ("settings", "field", "wanted"),
    [
        ((-0.1, 10, 10), "ratio.ratio", "a number from 0 to 1"),
        ((1.1, 10, 10), "ratio.ratio", "a number from 0 to 1"),
        ((0.1, 0, 10), "ratio.window", "a number of seconds from 0.001 to 1,000,000,000"),
        ((0.1, 10, -1), "ratio.bootstrap", "a whole number, 0 or more"),
        ((0.1, 10, 1.5), "ratio.bootstrap", "a whole number, 0 or more"),
    ],
)
def test_a_ratio_rule_refuses_nonsense(
    settings: tuple[float, float, int], field: str, wanted: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        RatioRule(*settings)
    assert (caught.value.field, caught.value.wanted) == (field, wanted)


def spends(rule: RatioRule, counted: Window, slot: int, tries: int = 1_000) -> int:
    """How many retries are granted in one slice."""
    for granted in range(tries):
        spent = rule.spend(counted, slot)
        if spent is None:
            return granted
        counted = spent
    return tries


def test_a_ratio_grants_its_share_of_the_calls() -> None:
    assert spends(RATIO, RATIO.call(Window(), 200, slot=7), slot=7) == 20
    assert spends(RATIO, RATIO.call(Window(), 209, slot=7), slot=7) == 20
    assert spends(RATIO, RATIO.call(Window(), 210, slot=7), slot=7) == 21


@pytest.mark.parametrize("percent", range(1, 101))
def test_the_share_is_exact_where_a_product_of_floats_is_not(percent: int) -> None:
    rule = RatioRule(percent / 100, 10, 0)  # 0.29 * 100 is 28.999...
    assert spends(rule, rule.call(Window(), 100, slot=7), slot=7) == percent


def test_while_calls_are_few_the_bootstrap_is_granted() -> None:
    assert spends(RATIO, Window(), slot=7) == 10
    assert spends(RATIO, RATIO.call(Window(), 99, slot=7), slot=7) == 10
    assert spends(RatioRule(0.1, 10, 0), Window(), slot=7) == 0
    assert spends(RatioRule(0.0, 10, 3), RATIO.call(Window(), 99, slot=7), slot=7) == 3


def test_the_bootstrap_is_not_granted_on_top_of_the_share() -> None:
    assert spends(RATIO, RATIO.call(Window(), 150, slot=7), slot=7) == 15


def test_calls_are_forgotten_a_slice_before_the_retries_they_paid_for() -> None:
    counted = RATIO.call(Window(), 200, slot=7)
    for _ in range(20):
        spent = RATIO.spend(counted, 7)
        assert spent is not None
        counted = spent
    assert spends(RATIO, counted, slot=26) == 0  # 19 slices on: 20 calls' worth, all of it spent
    assert spends(RATIO, counted, slot=27) == 0  # the calls are gone, the retries are not
    assert spends(RATIO, counted, slot=28) == 10  # all is forgotten; the bootstrap is new


def test_the_slot_of_a_ratio_is_a_twentieth_of_its_window() -> None:
    assert [RATIO.slot(now) for now in (0, 0.49, 0.5, 10)] == [0, 0, 1, 20]


@given(
    st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.5, 1.0]),
    st.integers(0, 4),
    st.lists(st.tuples(st.floats(0, 4), st.integers(0, 12), st.integers(0, 6)), max_size=60),
)
def test_in_every_window_that_ends_with_a_granted_retry_the_rule_holds(
    ratio: float, bootstrap: int, steps: list[tuple[float, int, int]]
) -> None:
    rule = RatioRule(ratio, 10, bootstrap)
    now, counted = 500.0, Window()
    calls, retries = list[float](), list[float]()
    for step, called, tried in steps:
        now += step
        counted = rule.call(counted, called, rule.slot(now)) if called else counted
        calls += [now] * called
        for _ in range(tried):
            spent = rule.spend(counted, rule.slot(now))
            if spent is None:
                break
            counted = spent
            retries.append(now)
            made = sum(now - 10 < time for time in retries)
            assert made <= max(bootstrap, ratio * sum(now - 10 < time for time in calls))


class Load:
    """Calls that arrive at a steady rate, all under way at once, each attempt failing by chance.

    Time is virtual: a call takes 50 ms an attempt and waits 100 ms, 200 ms, ... in between, so at
    a hundred calls a second some ten are at work and several wait while others are decided.
    """

    def __init__(self, *, seconds: int, failing: float, seed: int, quota: QuotaRule | None) -> None:
        self.calls = 0
        self.attempts = 0
        self.saved = 0
        self._quota = quota
        self._tokens = quota.capacity if quota else 0.0
        chance = Random(seed)
        places = count()
        agenda: list[tuple[float, int, int, list[bool]]] = []
        for number in range(100 * seconds):
            # Each call's luck is settled beforehand, so that it is the same with every budget.
            luck = [chance.random() >= failing for _ in range(5)]
            heapq.heappush(agenda, (number / 100, next(places), 1, luck))
            self.calls += 1
        while agenda:
            now, _, attempt, luck = heapq.heappop(agenda)
            self.attempts += 1
            if luck[attempt - 1]:
                self._succeeded(attempt)
            elif attempt < 5 and self._granted():
                wait = 0.05 + 0.1 * 2 ** (attempt - 1) * chance.random()
                heapq.heappush(agenda, (now + wait, next(places), attempt + 1, luck))

    def _succeeded(self, attempt: int) -> None:
        self.saved += attempt > 1
        if self._quota:
            self._tokens = self._quota.succeed(self._tokens, retried=attempt > 1)

    def _granted(self) -> bool:
        left = self._quota.spend(self._tokens) if self._quota else 0.0
        if left is None:
            return False
        self._tokens = left
        return True


@pytest.mark.parametrize("seed", range(3))
def test_a_quota_keeps_the_useful_retries_while_a_fifth_of_the_attempts_fails(seed: int) -> None:
    unlimited = Load(seconds=60, failing=0.2, seed=seed, quota=None)
    limited = Load(seconds=60, failing=0.2, seed=seed, quota=QUOTA)
    assert unlimited.saved > 1_000
    assert limited.saved >= 0.95 * unlimited.saved


def test_a_quota_hardly_amplifies_an_outage() -> None:
    load = Load(seconds=60, failing=1, seed=1, quota=QUOTA)
    assert load.calls == 6_000
    assert load.attempts == 6_100  # 500 tokens at 5 each, and not one retry more
    assert load.attempts / load.calls <= 1.1


def test_without_a_budget_an_outage_is_amplified_by_every_attempt_there_is() -> None:
    load = Load(seconds=10, failing=1, seed=1, quota=None)
    assert load.attempts == 5 * load.calls

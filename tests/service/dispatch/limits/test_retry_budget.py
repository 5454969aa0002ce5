"""How many of a lane's sends may be retries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.dispatch.limits.retry_budget import PAUSE, RULE, Budget
from tarry.testing.samples import NOON


def spent(budget: Budget, now: float, tries: int = 1000) -> int:
    """How many retries go at once."""
    return sum(budget.spend(now) for _ in range(tries))


def sent(count: int) -> Budget:
    budget = Budget()
    for _ in range(count):
        budget.sent()
    return budget


@pytest.mark.parametrize(
    ("sends", "retries"), [(0, 20), (1, 20), (40, 20), (42, 21), (100, 50), (101, 50)]
)
def test_retries_are_half_of_what_was_sent_or_a_few(sends: int, retries: int) -> None:
    assert spent(sent(sends), NOON) == retries


def test_what_went_before_the_window_does_not_count() -> None:
    budget = sent(100)
    assert spent(budget, NOON) == 50
    assert spent(budget, NOON + RULE.window - 2 * PAUSE) == 0
    assert spent(budget, NOON + RULE.window + 2 * PAUSE) == 20


def test_a_send_counts_from_the_next_retry_on() -> None:
    budget = sent(100)
    spent(budget, NOON)
    budget.sent()
    assert not budget.spend(NOON)
    budget.sent()
    assert budget.spend(NOON)
    assert not budget.spend(NOON)


def test_a_retry_that_was_turned_away_goes_when_it_has_paused_often_enough() -> None:
    budget = sent(0)
    spent(budget, NOON)
    pauses = next(n for n in range(100) if budget.spend(NOON + n * PAUSE))
    assert pauses * PAUSE == pytest.approx(RULE.window + PAUSE)


@given(
    st.lists(st.tuples(st.floats(0, 3), st.integers(0, 40), st.integers(0, 60)), max_size=60),
)
def test_in_no_window_more_goes_again_than_the_budget_has(
    steps: list[tuple[float, int, int]],
) -> None:
    budget, now = Budget(), NOON
    sends, retries = list[float](), list[float]()
    for pause, fresh, again in steps:
        now += pause
        for _ in range(fresh):
            budget.sent()
            sends.append(now)
        retries += [now] * spent(budget, now, again)
        lately = [at for at in retries if at > now - RULE.window]
        # What was sent is counted when a retry asks: at the latest then it is in the window.
        counted = [at for at in sends if at > now - 2 * RULE.window]
        assert len(lately) <= max(RULE.bootstrap, RULE.ratio * len(counted))

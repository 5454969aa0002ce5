import math
from datetime import timedelta
from itertools import accumulate
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import (
    DEFAULT_CAP,
    Backoff,
    Exponential,
    Fibonacci,
    Fixed,
    Linear,
    Schedule,
)
from tarry.errors import PolicyError

backoffs = st.one_of([st.from_type(kind) for kind in get_args(Backoff)])


def waits(backoff: Backoff, count: int = 6) -> list[float]:
    return [backoff.curve(attempts) for attempts in range(1, count + 1)]


@pytest.mark.parametrize(
    ("backoff", "expected"),
    [
        (Fixed(2), [2, 2, 2, 2, 2, 2]),
        (Fixed(timedelta(minutes=1)), [60, 60, 60, 60, 60, 60]),
        (Linear(2, cap=9), [2, 4, 6, 8, 9, 9]),
        (Linear(step=0, cap=9), [0, 0, 0, 0, 0, 0]),
        (Exponential(1, cap=10), [1, 2, 4, 8, 10, 10]),
        (Exponential(base=1, factor=3, cap=27), [1, 3, 9, 27, 27, 27]),
        (Exponential(base=2, factor=1, cap=10), [2, 2, 2, 2, 2, 2]),
        (Exponential(base=0, cap=10), [0, 0, 0, 0, 0, 0]),
        (Exponential(base=10, cap=10), [10, 10, 10, 10, 10, 10]),
        (Fibonacci(1, cap=6), [1, 1, 2, 3, 5, 6]),
        (Fibonacci(base=2, cap=1000), [2, 2, 4, 6, 10, 16]),
        (Fibonacci(base=0, cap=6), [0, 0, 0, 0, 0, 0]),
        (Schedule([10, 30, 20]), [10, 30, 20, 20, 20, 20]),
        (Schedule(iter([0, 5])), [0, 5, 5, 5, 5, 5]),
    ],
    ids=str,
)
def test_the_curve_is_what_its_name_says(backoff: Backoff, expected: list[float]) -> None:
    assert waits(backoff) == expected
    assert [backoff.total(attempts) for attempts in range(7)] == pytest.approx(
        [0, *accumulate(expected)], rel=1e-12
    )


@pytest.mark.parametrize(
    ("backoff", "ceiling"),
    [
        (Fixed(2), 2),
        (Linear(2, cap=9), 9),
        (Exponential(1, cap=10), 10),
        (Fibonacci(1, cap=6), 6),
        (Schedule([10, 30, 20]), 30),
    ],
    ids=str,
)
def test_the_ceiling_is_the_longest_wait(backoff: Backoff, ceiling: float) -> None:
    assert backoff.ceiling == ceiling
    assert max(waits(backoff, 20)) == ceiling


@pytest.mark.parametrize("backoff", [Linear(1), Exponential(1), Fibonacci(1)], ids=str)
def test_the_cap_is_a_minute_unless_said_otherwise(
    backoff: Linear | Exponential | Fibonacci,
) -> None:
    assert backoff.cap == 60
    assert DEFAULT_CAP == 60


def test_an_exponential_curve_doubles_unless_said_otherwise() -> None:
    assert Exponential(base=0.5) == Exponential(base=0.5, factor=2, cap=60)


@given(backoff=backoffs, attempts=st.integers(1, 10_000))
def test_no_wait_is_above_the_ceiling_and_none_is_below_zero(
    backoff: Backoff, attempts: int
) -> None:
    wait, total = backoff.curve(attempts), backoff.total(attempts)
    assert 0 <= wait <= backoff.ceiling
    assert 0 <= total <= backoff.ceiling * attempts * (1 + 1e-12) + 1e-300
    assert math.isfinite(total)


@given(
    backoff=st.from_type(Linear) | st.from_type(Exponential) | st.from_type(Fibonacci),
    attempts=st.integers(1, 10_000),
)
def test_a_growing_curve_never_falls(backoff: Backoff, attempts: int) -> None:
    assert backoff.curve(attempts) <= backoff.curve(attempts + 1)


@given(backoff=backoffs, attempts=st.integers(0, 300))
def test_the_total_is_the_sum_of_the_curve(backoff: Backoff, attempts: int) -> None:
    plain = math.fsum(waits(backoff, attempts))
    assert backoff.total(attempts) == pytest.approx(plain, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    "backoff",
    [
        Exponential(base=1, factor=1 + 1e-9, cap=1e9),
        Exponential(base=1, factor=1.0001, cap=2),
        Exponential(base=1e-300, factor=1e10, cap=1e9),
        Exponential(base=0.1, factor=2, cap=0.8),
        Linear(step=0.1, cap=0.3),
    ],
    ids=str,
)
def test_the_total_keeps_its_digits_on_awkward_curves(backoff: Backoff) -> None:
    for attempts in (1, 2, 3, 31, 32, 33, 7_000):
        plain = math.fsum(waits(backoff, attempts))
        assert backoff.total(attempts) == pytest.approx(plain, rel=1e-11)


@pytest.mark.parametrize(
    "backoff",
    [Exponential(base=1, cap=10), Exponential(base=1, factor=1e300, cap=10), Fibonacci(1, cap=10)],
    ids=str,
)
def test_a_very_late_attempt_does_not_overflow(backoff: Backoff) -> None:
    assert backoff.curve(1_025) == 10
    assert backoff.curve(10**9) == 10
    assert backoff.total(10**9) == pytest.approx(1e10, rel=1e-8)


def test_zero_times_a_number_too_large_is_zero() -> None:
    assert Exponential(base=0, cap=10).curve(5_000) == 0


@pytest.mark.parametrize(
    ("make", "field", "value", "wanted"),
    [
        (
            lambda: Fixed(-1),
            "backoff.delay",
            -1,
            "a number of seconds from 0 to 1,000,000,000",
        ),
        (
            lambda: Linear(1, cap=math.inf),
            "backoff.cap",
            math.inf,
            "a number of seconds from 0 to 1,000,000,000",
        ),
        (
            lambda: Linear(step=11, cap=10),
            "backoff.step",
            11,
            "a number of seconds from 0 to cap (10)",
        ),
        (
            lambda: Exponential(base=2, cap=1.5),
            "backoff.base",
            2,
            "a number of seconds from 0 to cap (1.5)",
        ),
        (
            lambda: Exponential(base=-1),
            "backoff.base",
            -1,
            "a number of seconds from 0 to cap (60)",
        ),
        (
            lambda: Exponential(base=1, factor=0.99),
            "backoff.factor",
            0.99,
            "a finite number, 1 or more",
        ),
        (
            lambda: Exponential(1, cap=True),
            "backoff.cap",
            True,
            "a number of seconds from 0 to 1,000,000,000",
        ),
        (
            lambda: Fibonacci(base=61),
            "backoff.base",
            61,
            "a number of seconds from 0 to cap (60)",
        ),
        (
            lambda: Fibonacci(base=1, cap=-1),
            "backoff.cap",
            -1,
            "a number of seconds from 0 to 1,000,000,000",
        ),
        (
            lambda: Schedule([]),
            "backoff.delays",
            (),
            "a list of one or more waits in seconds",
        ),
        (
            lambda: Schedule("12"),  # type: ignore[arg-type]
            "backoff.delays",
            "12",
            "a list of one or more waits in seconds",
        ),
        (
            lambda: Schedule(b"12"),
            "backoff.delays",
            b"12",
            "a list of one or more waits in seconds",
        ),
        (
            lambda: Schedule(12),  # type: ignore[arg-type]
            "backoff.delays",
            12,
            "a list of one or more waits in seconds",
        ),
        (
            lambda: Schedule([1, -2]),
            "backoff.delays[1]",
            -2,
            "a number of seconds from 0 to 1,000,000,000",
        ),
    ],
    ids=lambda value: None if callable(value) else repr(value),
)
def test_nonsense_is_refused_at_birth(
    make: type[Backoff], field: str, value: object, wanted: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        make()  # type: ignore[call-arg]
    assert caught.value.args == (field, value, wanted)


def test_equal_settings_are_equal_backoffs() -> None:
    assert Exponential(base=1, cap=9) == Exponential(1, 2.0, 9.0)
    assert hash(Schedule([1, 2])) == hash(Schedule((1.0, 2.0)))
    assert Fixed(1) != Fixed(2)

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tarry.sim.estimate import Estimate, estimate, student

numbers = st.floats(-1e6, 1e6)


@given(freedom=st.integers(1, 2_000))
def test_the_quantile_is_that_of_student_s_t(freedom: int) -> None:
    assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=1e-9)


@pytest.mark.parametrize(("freedom", "wanted"), [(1, 12.706205), (2, 4.302653), (19, 2.093024)])
def test_the_quantile_is_the_one_in_printed_tables(freedom: int, wanted: float) -> None:
    assert student(freedom) == pytest.approx(wanted, abs=1e-6)


@given(values=st.lists(numbers, min_size=2, max_size=30))
def test_the_interval_is_that_of_the_textbook(values: list[float]) -> None:
    found = estimate(values)
    assert found.mean == fmean(values)
    assert found.low is not None
    assert found.high is not None
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    assert found.high - found.low == pytest.approx(2 * half, rel=1e-6, abs=1e-6)
    assert found.high + found.low == pytest.approx(2 * found.mean, rel=1e-9, abs=1e-6)
    assert (found.runs, found.missing) == (len(values), 0)


def test_a_single_run_has_a_mean_and_no_interval() -> None:
    assert estimate([3.5]) == Estimate(3.5, None, None, 1)


def test_runs_that_agree_leave_no_doubt() -> None:
    assert estimate([2.0, 2.0, 2.0]) == Estimate(2.0, 2.0, 2.0, 3)


def test_with_a_run_missing_there_is_no_mean_to_flatter_the_policy() -> None:
    assert estimate([1.0, None, 3.0, None]) == Estimate(None, None, None, 4, missing=2)


def test_of_nothing_nothing_is_said() -> None:
    assert estimate([]) == Estimate(None, None, None, 0)

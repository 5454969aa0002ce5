import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.cli.output.numbers import bounds, digits
from tarry.sim.estimate import Estimate


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0.0, "0"),
        (0.012345, "0.0123"),
        (12.345, "12.3"),
        (-12.345, "-12.3"),
        (999.4, "999"),
        (999.7, "1,000"),
        (1234567.8, "1,234,568"),
        (-1234567.8, "-1,234,568"),
    ],
)
def test_people_read_three_digits_and_whole_thousands(number: float, written: str) -> None:
    assert digits(number) == written


def test_fewer_digits_can_be_asked_for() -> None:
    assert [digits(number, 2) for number in (0.0123, 12.3, 123.4)] == ["0.012", "12", "123"]


@given(st.floats(1e-4, 1e12))
def test_what_is_written_is_the_number_to_three_digits(number: float) -> None:
    assert float(digits(number).replace(",", "")) == pytest.approx(number, rel=0.005)


def test_programs_get_the_mean_and_its_interval() -> None:
    assert bounds(Estimate(2.0, 1.5, 2.5, 3)) == {"mean": 2.0, "ci95": [1.5, 2.5]}


def test_what_is_not_known_is_null() -> None:
    assert bounds(Estimate(2.0, None, None, 1)) == {"mean": 2.0, "ci95": None}
    assert bounds(Estimate(None, None, None, 3, 1)) == {"mean": None, "ci95": None}

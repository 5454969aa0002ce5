import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.duration import spoken


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.000_4, "0.4 ms"),
        (0.001, "1 ms"),
        (0.0123, "12.3 ms"),
        (0.12, "120 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (1, "1 s"),
        (2.5, "2.5 s"),
        (9.994, "9.99 s"),
        (45, "45 s"),
        (99.96, "100 s"),
        (119, "119 s"),
        (119.6, "2 min"),
        (120, "2 min"),
        (240, "4 min"),
        (7_190, "120 min"),
        (7_200, "2 h"),
        (9_000, "2.5 h"),
        (172_000, "47.8 h"),
        (172_800, "2 d"),
        (432_000, "5 d"),
        (1e9, "11,574 d"),
        (math.inf, "an endless time"),
    ],
)
def test_a_duration_reads_as_people_say_it(seconds: float, text: str) -> None:
    assert spoken(seconds) == text


@given(st.floats(1e-6, 1e9))
def test_a_spoken_duration_is_right_to_three_digits(seconds: float) -> None:
    amount, _, sign = spoken(seconds).partition(" ")
    length = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86_400}[sign]
    assert float(amount.replace(",", "")) * length == pytest.approx(seconds, rel=0.0105)

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from tarry.sim.picture.scale import amount, set_scale, tick


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.0, "0"), (0.1 + 0.2, "0.3"), (1e6, "1,000,000"), (-50.0, "\N{MINUS SIGN}50"), (2.5, "2.5")],
)
def test_numbers_beside_an_axis_are_plain(value: float, told: str) -> None:
    assert tick(value) == told


@pytest.mark.parametrize(
    ("number", "told"), [(0.0, "0"), (0.12345, "0.123"), (99.95, "100"), (12_345.6, "12,346")]
)
def test_an_amount_has_three_digits_or_all_before_the_point(number: float, told: str) -> None:
    assert amount(number) == told


@given(st.floats(1e-3, 1e9))
def test_an_amount_is_right_to_half_a_percent(number: float) -> None:
    assert float(amount(number).replace(",", "")) == pytest.approx(number, rel=0.0051)


@pytest.mark.parametrize("log", [False, True])
def test_the_axis_goes_from_floor_to_top_with_numbers_people_read(*, log: bool) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1, 2], [1.0, 50_000.0, 3.0])
    set_scale(axes, 1.0, 100_000.0, log=log)
    figure.draw_without_rendering()
    assert axes.get_ylim() == (1.0, 100_000.0)
    assert axes.get_yscale() == ("log" if log else "linear")
    told = [label.get_text() for label in axes.get_yticklabels()]
    assert "100,000" in told
    assert not [text for text in told if "e" in text or "$" in text]

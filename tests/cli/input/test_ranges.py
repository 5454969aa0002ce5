import math

import click
import pytest

from tarry.cli.input.ranges import Number, Whole


@pytest.mark.parametrize(("typed", "found"), [("7", 7), (8, 8)])
def test_a_whole_number_is_read(typed: object, found: int) -> None:
    assert Whole(min=1).convert(typed, None, None) == found


@pytest.mark.parametrize("typed", ["x", "", "0.5", 1.5, True])
def test_what_is_no_whole_number_is_not_made_one(typed: object) -> None:
    with pytest.raises(click.BadParameter, match="is not a valid whole number"):
        Whole(min=1).convert(typed, None, None)


@pytest.mark.parametrize(("typed", "found"), [("7", 7.0), (8, 8.0), (1.5, 1.5)])
def test_a_number_is_read(typed: object, found: float) -> None:
    assert Number(min=1).convert(typed, None, None) == found


@pytest.mark.parametrize("typed", ["x", "nan", "infinity", "1e999", math.inf, True])
def test_what_cannot_be_reckoned_with_is_refused(typed: object) -> None:
    with pytest.raises(click.BadParameter, match="is not a valid number"):
        Number(min=1).convert(typed, None, None)


def test_bounds_are_kept() -> None:
    with pytest.raises(click.BadParameter, match="0 is not in the range x>=1"):
        Whole(min=1).convert("0", None, None)
    with pytest.raises(click.BadParameter, match=r"0\.0 is not in the range x>0"):
        Number(min=0, min_open=True).convert("0", None, None)

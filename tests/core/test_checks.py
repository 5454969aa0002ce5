import math
from datetime import timedelta
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core import checks
from tarry.errors import PolicyError


def above_two(value: float) -> bool:
    return value > 2


@pytest.mark.parametrize(("value", "kept"), [(3, 3.0), (2.5, 2.5), (10**300, 1e300)])
def test_a_number_is_kept_as_a_float(value: float, kept: float) -> None:
    found = checks.number("field", value, "above 2", above_two)
    assert found == kept
    assert type(found) is float


@pytest.mark.parametrize(
    "value", [True, False, "3", None, [3], 3j, math.nan, math.inf, -math.inf, 10**400, 2, 2.0]
)
def test_what_is_no_fitting_number_is_refused(value: object) -> None:
    with pytest.raises(PolicyError) as caught:
        checks.number("field", value, "above 2", above_two)
    assert caught.value.field == "field"
    assert caught.value.value is value
    assert caught.value.wanted == "above 2"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (0, 0.0),
        (0.25, 0.25),
        (1_000_000_000, 1e9),
        (timedelta(minutes=2), 120.0),
        (timedelta(0), 0.0),
    ],
)
def test_a_duration_is_seconds_or_a_timedelta(value: checks.Seconds, kept: float) -> None:
    found = checks.seconds("within", value)
    assert found == kept
    assert type(found) is float


@pytest.mark.parametrize(
    "value",
    [-1, -5e-324, 1_000_000_001, timedelta(-1), timedelta(days=36_500), math.nan, True, "1", None],
)
def test_a_duration_out_of_bounds_is_refused(value: object) -> None:
    with pytest.raises(PolicyError) as caught:
        checks.seconds("within", value)
    assert caught.value.field == "within"
    assert caught.value.wanted == "a number of seconds from 0 to 1,000,000,000"


def test_a_refused_timedelta_is_shown_in_seconds() -> None:
    with pytest.raises(PolicyError) as caught:
        checks.seconds("within", timedelta(seconds=-3), "something better")
    assert str(caught.value) == "'within' is -3.0; it must be something better"


@pytest.mark.parametrize("value", [5e-324, 1, 1e9, timedelta(microseconds=1)])
def test_a_positive_duration_is_above_zero(value: checks.Seconds) -> None:
    assert checks.positive_seconds("attempt_timeout", value) == checks.seconds("", value)


@pytest.mark.parametrize("value", [0, -0.0, timedelta(0), -1, 1e9 + 1])
def test_a_positive_duration_is_not_zero(value: checks.Seconds) -> None:
    with pytest.raises(PolicyError) as caught:
        checks.positive_seconds("attempt_timeout", value)
    assert caught.value.field == "attempt_timeout"
    assert caught.value.wanted == "a number of seconds above 0, up to 1,000,000,000"


@pytest.mark.parametrize("value", [0, 0.5, 1])
def test_a_share_is_from_zero_to_one(value: float) -> None:
    assert checks.share("jitter.share", value) == value


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan])
def test_a_share_out_of_bounds_is_refused(value: float) -> None:
    with pytest.raises(PolicyError) as caught:
        checks.share("jitter.share", value)
    assert caught.value.args == ("jitter.share", value, "a number from 0 to 1")


@pytest.mark.parametrize(("value", "least"), [(1, 1), (2, 1), (0, 0), (5, 5)])
def test_a_count_may_be_its_least(value: int, least: int) -> None:
    assert checks.count("attempts", value, least=least) == value


@pytest.mark.parametrize(("value", "least"), [(0, 1), (4, 5), (True, 1), (1.0, 1), ("1", 1)])
def test_a_count_is_a_whole_number(value: object, least: int) -> None:
    with pytest.raises(PolicyError) as caught:
        checks.count("attempts", value, least=least)
    assert caught.value.args == ("attempts", value, f"a whole number, {least} or more")


def test_a_count_is_one_or_more_unless_said_otherwise() -> None:
    assert checks.count("attempts", 1) == 1
    with pytest.raises(PolicyError, match="1 or more"):
        checks.count("attempts", 0)


def test_a_flag_is_true_or_false() -> None:
    assert checks.flag("nested", value=True) is True
    assert checks.flag("nested", value=False) is False


@pytest.mark.parametrize("value", [0, 1, "true", None])
def test_what_looks_like_a_flag_is_refused(value: object) -> None:
    with pytest.raises(PolicyError) as caught:
        checks.flag("nested", value)
    assert caught.value.args == ("nested", value, "true or false")


@given(st.text())
def test_any_text_is_a_word(text: str) -> None:
    assert checks.word("name", text) == text


@pytest.mark.parametrize("value", ["\ud7ff", "\ue000", ""])
def test_letters_beside_the_surrogates_are_fine(value: str) -> None:
    assert checks.word("name", value) == value


@pytest.mark.parametrize("value", [None, 3, b"name", "a\ud800b", "\udfff"])
def test_what_cannot_be_written_down_is_no_word(value: object) -> None:
    with pytest.raises(PolicyError) as caught:
        checks.word("name", value)
    assert caught.value.args == ("name", value, "a string of valid Unicode")


def test_statuses_are_kept_as_a_set_of_plain_ints() -> None:
    found = checks.statuses("statuses.retry", iter([100, HTTPStatus.BAD_GATEWAY, 599, 599]))
    assert found == frozenset({100, 502, 599})
    assert {type(status) for status in found} == {int}


@pytest.mark.parametrize("value", ["503", b"503", 503, None], ids=repr)
def test_statuses_come_as_a_list(value: object) -> None:
    with pytest.raises(PolicyError) as caught:
        checks.statuses("statuses.retry", value)
    wanted = "a list of HTTP statuses from 100 to 599"
    assert caught.value.args == ("statuses.retry", value, wanted)


@pytest.mark.parametrize("value", [99, 600, True, "503", 503.0, None])
def test_a_status_that_is_none_is_refused_with_its_place(value: object) -> None:
    with pytest.raises(PolicyError) as caught:
        checks.statuses("statuses.never", [500, value])
    assert caught.value.args == ("statuses.never[1]", value, "HTTP statuses from 100 to 599")


@pytest.mark.parametrize(
    ("kinds", "wanted"),
    [(int, "int"), (int | str, "one of int, str"), (float | int, "one of float, int")],
)
def test_what_is_none_of_the_kinds_is_refused(kinds: type, wanted: str) -> None:
    with pytest.raises(PolicyError) as caught:
        checks.one_of("backoff", b"", kinds)
    assert caught.value.args == ("backoff", b"", wanted)


def test_one_of_the_kinds_is_passed_on() -> None:
    assert checks.one_of("backoff", 7, int | str) == 7
    assert checks.one_of("backoff", "seven", str) == "seven"

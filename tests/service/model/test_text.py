"""What is refused of names, words and instants, and what is taken."""

import math
from typing import Any

import pytest

from tarry.errors import SettingsError
from tarry.service.model.text import MOST_CHARACTERS, check_instant, check_text, mend, words


@pytest.mark.parametrize(
    "value", ["", None, 7, b"order", "x" * (MOST_CHARACTERS + 1), "nul\0", "half \ud800"]
)
def test_what_not_every_store_can_keep_is_refused(value: object) -> None:
    with pytest.raises(SettingsError, match="event_type") as refused:
        check_text("event_type", value)
    assert len(str(refused.value)) < MOST_CHARACTERS


@pytest.mark.parametrize("value", ["x", "x" * MOST_CHARACTERS, "\N{SNOWMAN} \U0010ffff", "a\tb"])
def test_any_other_text_will_do(value: str) -> None:
    check_text("event_type", value)
    assert words("tags", [value]) == (value,)


def test_words_are_kept_in_order() -> None:
    assert words("tags", iter(["b", "a"])) == ("b", "a")
    assert words("tags", []) == words("tags", ()) == ()


@pytest.mark.parametrize("value", ["eu", None, 7, [1], ["eu", None], [""], ["nul\0"]])
def test_what_is_no_list_of_texts_is_refused(value: Any) -> None:  # noqa: ANN401  wrong ones
    with pytest.raises(SettingsError, match="tags"):
        words("tags", value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1e300, 1e18, "soon", True])
def test_what_has_no_date_is_refused(value: Any) -> None:  # noqa: ANN401  wrong ones
    with pytest.raises(SettingsError, match="deliver_at"):
        check_instant("deliver_at", value)


@pytest.mark.parametrize("value", [None, 0, -1.5, 1_700_000_000.5])
def test_an_instant_may_be_any_or_none(value: float | None) -> None:
    check_instant("deliver_at", value)


def test_what_others_have_said_is_mended() -> None:
    assert mend("fine") == "fine"
    assert mend("caf\xe9") == "caf\xe9"
    assert mend("a\0b\ud800") == "a\ufffdb?"

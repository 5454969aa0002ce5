"""Checks of names, ids, words and instants, so that any store can keep them."""

import math
from collections.abc import Iterable

from tarry.errors import SettingsError

MOST_CHARACTERS = 256
"""The longest name, event id, channel or tag, because index entries have limits."""
MOST_SHOWN = 80
"""Characters of a text that are shown in an error."""
END_OF_TIME = 253_402_300_800.0
"""The year 10000: later instants have no date."""


def check_text(field: str, value: object) -> None:
    """Raise SettingsError if it is no text, or text that not every store can keep and find."""
    if not isinstance(value, str) or not value:
        raise SettingsError(field, value, "text with something in it")
    if len(value) > MOST_CHARACTERS:
        wanted = f"at most {MOST_CHARACTERS} characters long"
        raise SettingsError(field, f"{value[:MOST_SHOWN]}...", wanted)
    if "\0" in value or not _has_a_code(value):
        raise SettingsError(field, value, "text without NUL and halves of characters")


def words(field: str, value: Iterable[str]) -> tuple[str, ...]:
    """Return a tuple of texts; a single text is refused, as it would be split into letters."""
    if value == ():  # the usual case
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SettingsError(field, value, "a list of texts")
    texts = tuple(value)
    if not all(isinstance(word, str) for word in texts):
        raise SettingsError(field, value, "a list of texts")
    for word in texts:
        check_text(field, word)
    return texts


def check_instant(field: str, value: object) -> None:
    """Raise SettingsError if it is no instant; None is allowed."""
    if value is None:
        return
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not abs(number) < END_OF_TIME:  # also refuses NaN
        raise SettingsError(field, value, "a number of seconds since 1970, before the year 10000")


def mend(text: str) -> str:
    """Return text from outside without characters that not every store can keep."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _has_a_code(value: str) -> bool:
    """Return whether it can be encoded in UTF-8: lone surrogates cannot."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True

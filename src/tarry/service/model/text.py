"""What a message and its owner go by: names, ids, words and instants that any store can keep."""

import math
from collections.abc import Iterable

from tarry.errors import SettingsError

MOST_CHARACTERS = 256
"""Of a name, a sender's id, a channel or a tag: no index has room for any length."""
SHOWN = 80
"""Characters of a text that are shown in an error."""
END_OF_TIME = 253_402_300_800.0
"""The year 10000: what comes after it has no date."""


def check_text(field: str, value: object) -> None:
    """Refuse what is no text, and text that not every store keeps and finds again."""
    if not isinstance(value, str) or not value:
        raise SettingsError(field, value, "text with something in it")
    if len(value) > MOST_CHARACTERS:
        wanted = f"at most {MOST_CHARACTERS} characters long"
        raise SettingsError(field, f"{value[:SHOWN]}...", wanted)
    if "\0" in value or not _has_a_code(value):
        raise SettingsError(field, value, "text without NUL and halves of characters")


def words(field: str, value: Iterable[str]) -> tuple[str, ...]:
    """Several texts; one text alone would be taken for its letters."""
    if value == ():  # as mostly
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SettingsError(field, value, "a list of texts")
    found = tuple(value)
    if not all(isinstance(word, str) for word in found):
        raise SettingsError(field, value, "a list of texts")
    for word in found:
        check_text(field, word)
    return found


def check_instant(field: str, value: object) -> None:
    """Refuse what is no instant; None is for none."""
    if value is None:
        return
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not abs(number) < END_OF_TIME:  # nor is NaN
        raise SettingsError(field, value, "a number of seconds since 1970, before the year 10000")


def mend(text: str) -> str:
    """Text that others have said, without what not every store can keep."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _has_a_code(value: str) -> bool:
    """Whether it can be written in UTF-8: surrogates alone cannot."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True

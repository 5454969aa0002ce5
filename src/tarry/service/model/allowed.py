"""Limits on the names and sizes of messages from outside, over HTTP and in the outbox.

Names may become part of a URL, so that every accepted message can be requested by them.
"""

import re
from collections.abc import Iterable

from tarry.errors import SettingsError
from tarry.service.model.text import MOST_CHARACTERS, MOST_SHOWN, check_text, words

MOST_BYTES = 1024 * 1024
"""The longest payload."""
MOST_LETTERS = 128
"""The longest channel or tag."""
MOST_CHANNELS, MOST_TAGS = 10, 50

NAME = r"^[a-zA-Z0-9\-_.]+\Z"
EVENT_ID = r"^(?!msg_)[a-zA-Z0-9\-_.]+\Z"  # it must not look like the id of another message
CHANNEL = r"^[a-zA-Z0-9\-_.:+]+\Z"
TAG = r"^[^\x00]+\Z"

_SAID = {
    NAME: "letters, digits, and any of - _ .",
    EVENT_ID: "letters, digits, and any of - _ . but not begin with msg_",
    CHANNEL: "letters, digits, and any of - _ . : +",
    TAG: "text without NUL",
}


def check_names(
    event_type: str, event_id: str | None, channels: Iterable[str], tags: Iterable[str]
) -> None:
    """Raise SettingsError if a message must not have these names."""
    _check("event_type", event_type, NAME, MOST_CHARACTERS)
    if event_id is not None:
        _check("event_id", event_id, EVENT_ID, MOST_CHARACTERS)
    for field, names, pattern, most in (
        ("channels", channels, CHANNEL, MOST_CHANNELS),
        ("tags", tags, TAG, MOST_TAGS),
    ):
        checked = words(field, names)
        if len(checked) > most:
            raise SettingsError(field, f"{len(checked)} of them", f"at most {most}")
        for name in checked:
            _check(field, name, pattern, MOST_LETTERS)


def check_size(payload: bytes) -> None:
    """Raise SettingsError if a payload is too long."""
    if len(payload) > MOST_BYTES:
        raise SettingsError("payload", f"{len(payload)} bytes", f"at most {MOST_BYTES} bytes")


def _check(field: str, value: str, pattern: str, most: int) -> None:
    """Refuse a text that is too long or does not match the pattern."""
    check_text(field, value)
    if len(value) > most:
        raise SettingsError(field, f"{value[:MOST_SHOWN]}...", f"at most {most} characters long")
    if not re.search(pattern, value):
        raise SettingsError(field, value, _SAID[pattern])

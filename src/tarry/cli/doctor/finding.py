"""What the doctor finds."""

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """How something is."""

    OK = "ok"
    ADVICE = "advice"  # it works, and could be better or is worth knowing
    WRONG = "wrong"


class Finding(NamedTuple):
    """One thing that was looked at, how it is, and in words."""

    check: str
    state: State
    words: str


def ok(check: str, words: str) -> Finding:
    """All is well."""
    return Finding(check, State.OK, words)


def advice(check: str, words: str) -> Finding:
    """It works, but."""
    return Finding(check, State.ADVICE, words)


def wrong(check: str, words: str) -> Finding:
    """It does not work, or not for long."""
    return Finding(check, State.WRONG, words)

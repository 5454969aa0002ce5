"""The results of the doctor's checks."""

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """The result of a check."""

    OK = "ok"
    ADVICE = "advice"  # it works, but could be better, or there is something to know
    WRONG = "wrong"


class Finding(NamedTuple):
    """One check with its result and an explanation."""

    check: str
    state: State
    words: str


def ok(check: str, words: str) -> Finding:
    """Report that a check passed."""
    return Finding(check, State.OK, words)


def advice(check: str, words: str) -> Finding:
    """Report that something works but could be better."""
    return Finding(check, State.ADVICE, words)


def wrong(check: str, words: str) -> Finding:
    """Report that something does not work, or will soon stop working."""
    return Finding(check, State.WRONG, words)

"""The result of a check of the audit."""

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """How a check ended. `NOT_CHECKED` means that what it needs is not there: that is no pass."""

    OK = "ok"
    FAILED = "FAILED"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Result:
    """What a check found: a line each for `problems`, and a `summary` of what was looked at."""

    state: State
    summary: str
    problems: tuple[str, ...] = ()


def result(summary: str, problems: list[str]) -> Result:
    """Return the result of a check that was carried out."""
    return Result(State.FAILED if problems else State.OK, summary, tuple(problems))

"""Prints histories that failed, and how to run them again."""

import re
from collections.abc import Iterator

import msgspec

from tests.simulation.run import Outcome
from tests.simulation.steps import History

MOST_TOLD = 5
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(History)
_USUAL = re.compile(r"\b\w+=(?:None|False|\(\))(?:, )?")


def written(history: History) -> bytes:
    """Return a history as JSON."""
    return _ENCODER.encode(history)


def read(text: bytes) -> History:
    """Return the history of a JSON text."""
    return _DECODER.decode(text)


def told(history: History) -> Iterator[str]:
    """Return a history as lines: its conditions, then its steps by time."""
    yield _short(repr(history.conditions))
    for step in history.steps:
        yield f"  {step.at:8.3f} s  {_short(re.sub(r'at=[^,]+, ', '', repr(step)))}"


def told_of(outcome: Outcome) -> Iterator[str]:
    """Return the first violations of a history as lines."""
    for violation in outcome.violations[:MOST_TOLD]:
        yield f"  {violation}"
    more = len(outcome.violations) - MOST_TOLD
    if more > 0:
        yield f"  and {more} more"


def _short(text: str) -> str:
    return _USUAL.sub("", text).replace(", )", ")")

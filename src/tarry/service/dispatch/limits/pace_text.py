"""A pacer's state as JSON, so that the new owner of a lane continues from the old one's state."""

import math
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from tarry.core.pace import Pace, Phase
from tarry.core.pacer import handed_over

_NUMBERS = (
    *("rate", "goal", "capacity", "baseline", "most", "judged", "epoch", "since", "begun", "climb"),
    *("hold", "failed_at", "latency", "usual", "down_since", "probes", "probe_at"),
    "held_until",
)
"""The fields that are kept in a hand-over; all others are about attempts of the old owner."""
WHOLE = "whole"
"""Marks the state of a whole origin, which lanes of several applications contribute to."""
WORKERS = "workers"
"""The names of the workers that share an origin's state, and how many deliveries wait at each."""
NOBODY: Mapping[str, int] = MappingProxyType({})
_FRESH = Pace()


def write(pace: Pace, *, whole: bool = False, workers: Mapping[str, int] = NOBODY) -> bytes:
    """Return the state as JSON, without fields that have their initial values.

    The state of a `whole` origin is marked as such, see `read_whole`. It names the `workers` that
    share it, each with how many deliveries wait there.
    """
    found = {name: getattr(pace, name) for name in _NUMBERS}
    said = {
        name: value
        for name, value in found.items()
        if value != getattr(_FRESH, name) and value is not None and math.isfinite(value)
    }
    mark = {WHOLE: 1} if whole else {}
    # One string, since earlier versions can read only numbers and strings.
    names = " ".join(f"{name}:{waiting}" for name, waiting in workers.items())
    shared = {WORKERS: names} if names else {}
    return msgspec.json.encode({"phase": pace.phase, **mark, **shared, **said})


def read_whole(text: bytes, *, now: float) -> Pace:
    """Return the state of a whole origin, as a new owner starts with it.

    Without the mark it was written by an earlier version, in which the lanes of one application
    could open the gate for all. Its capacity is used then, but not its outage.
    """
    pace = read(text, now=now)
    is_marked = bool(text) and pace is not _FRESH and WHOLE in msgspec.json.decode(text)
    return pace if is_marked else Pace(capacity=pace.capacity)


def read_workers(text: bytes) -> dict[str, int]:
    """Return the workers that share a state, and how many deliveries wait at each."""
    try:
        fields = msgspec.json.decode(text, type=dict[str, float | str])
        pairs = [name.rpartition(":") for name in str(fields.get(WORKERS, "")).split()]
        return {name: int(waiting) for name, _, waiting in pairs}
    except (msgspec.DecodeError, ValueError):
        return {}


def read(text: bytes, *, now: float) -> Pace:
    """Return the state, as a new owner starts with it. A text that cannot be read is ignored."""
    if not text:
        return _FRESH  # one shared value for all without a state
    try:
        said = msgspec.json.decode(text, type=dict[str, float | str])
        phase = Phase(str(said.pop("phase", Phase.CLOSED)))
        known = {name: value for name, value in said.items() if name in _NUMBERS}
        pace = Pace(phase=phase).replace(**_typed(known))
    except (msgspec.DecodeError, ValueError, TypeError):
        return _FRESH
    return handed_over(pace, now=now)


def _typed(known: dict[str, float | str]) -> dict[str, float]:
    whole = ("judged", "epoch", "probes")
    return {name: int(value) if name in whole else float(value) for name, value in known.items()}

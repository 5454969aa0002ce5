"""A pacer's state as JSON, so that a new owner of a lane goes on where the old one was."""

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
"""What outlives a hand-over; all else is about attempts that nobody waits for any more."""
WHOLE = "whole"
"""What marks the state of an origin that lanes of several applications speak for."""
WORKERS = "workers"
"""The names of the workers that share the state of an origin, and how many wait at each."""
NOBODY: Mapping[str, int] = MappingProxyType({})
_FRESH = Pace()


def write(pace: Pace, *, whole: bool = False, workers: Mapping[str, int] = NOBODY) -> bytes:
    """The state; what is as it always is at first is left out.

    That of a `whole` origin is marked as such, see `read_whole`. It names the `workers` that share
    it, each with how many deliveries wait there.
    """
    found = {name: getattr(pace, name) for name in _NUMBERS}
    said = {
        name: value
        for name, value in found.items()
        if value != getattr(_FRESH, name) and value is not None and math.isfinite(value)
    }
    mark = {WHOLE: 1} if whole else {}
    # One string: earlier versions know numbers and strings only.
    names = " ".join(f"{name}:{waiting}" for name, waiting in workers.items())
    shared = {WORKERS: names} if names else {}
    return msgspec.json.encode({"phase": pace.phase, **mark, **shared, **said})


def read_whole(text: bytes, *, now: float) -> Pace:
    """The state of a whole origin as a new owner takes it up.

    Without the mark it was written by an earlier version, for which the lanes of one application
    could speak for all. What it learned of the origin's capacity is believed, but no outage.
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
    """The state as a new owner takes it up. One that cannot be read is as good as none."""
    if not text:
        return _FRESH  # the same for all that have nothing to tell
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

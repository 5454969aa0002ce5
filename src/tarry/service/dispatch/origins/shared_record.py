"""The record of a whole origin, through which workers probe it as one and come back as one.

The lanes of one application are all at one worker. Those of a whole origin may be at several, and
each worker has its own gate for them. Three rules keep the gates in step:

- **A probe is reserved.** Before a worker probes, it writes the time of the next probe into the
  record. The store replaces the record only if it is the one that the worker knows. So one worker
  sends each probe. If it dies, another sends the next one.
- **An open gate follows the record.** Every worker whose gate is open reads the record every
  second (`RECORD_INTERVAL` in `record_exchange.py`), and when a write was refused. It takes over
  the time of the next probe. If the record is not open any more, a probe of another worker passed,
  and the gate is paced as well.
- **A backlog drains in shares.** The record names the workers that wait for the origin, and how
  many deliveries wait at each. So probes are as frequent as if all waited at one worker, and each
  worker drains with its share of the pace. The pace and capacity in the record are those of all.

No delivery depends on the record: a reservation that fails costs an extra probe, or delays one.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tarry.core.pace import Pace, Phase
from tarry.core.probe import probed
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.limits.gate import Gate, read_pace, scaled, write_pace
from tarry.service.dispatch.work import Work

AHEAD = 5.0
"""The record's next probe is at least this many seconds away while a probe has no answer yet."""
LOT = 0.5
"""Seconds within which workers reserve a probe that is due, so that all of them get some."""

Probe = tuple[int, int]
"""A gate's epoch and how many probes it counts: one more probe can be reserved for each."""


class Fleet:
    """This worker's name, and how many workers are alive."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.alive: float = math.inf
        """Infinity until it is known."""

    def count(self, alive: int) -> None:
        """Set how many workers are alive."""
        self.alive = alive


class SharedRecord:
    """A whole's record as this worker last read or wrote it, and the probe that it has reserved."""

    __slots__ = (
        *("_context", "_drawn_for", "_fleet", "_reserved", "_reserving", "_share", "_turn_for"),
        *("_work", "pace", "text", "wants_probe", "workers"),
    )

    def __init__(self, fleet: Fleet, context: Context, work: Work[Any]) -> None:
        self._fleet, self._context, self._work = fleet, context, work
        self.text = b""
        self.pace = Pace()
        """What the record says. Its pace and capacity are those of all workers together."""
        self.workers: dict[str, int] = {}
        """The workers that have lanes there, and how many deliveries wait at each."""
        self.wants_probe = False
        """Whether the next write reserves a probe."""
        self._reserving: Probe | None = None
        self._reserved: Probe | None = None
        self._drawn_for: Probe | None = None
        self._turn_for: Probe | None = None
        self._share = 1.0

    def read(self, text: bytes) -> None:
        """Take over the record as it is in the store."""
        self.text = text
        self.pace = read_pace(text, now=self._context.now())
        self.workers = read_workers(text)

    # --- Probes ---------------------------------------------------------------------------------

    def may_probe(self, pace: Pace, *, first: bool, serve: Callable[[], None]) -> bool:
        """Return whether the next probe is reserved. If not, reserve it and call `serve` later.

        Each worker waits a random time before it reserves. One with a lane that goes `first` does
        not wait, and the one that probed last waits longest.
        """
        probe = (pace.epoch, pace.probes)
        if self._reserved == probe:
            return True
        if first or self.sharers == 1 or self._turn_for == probe:
            self.wants_probe = True
            self._work.write_origins()
        elif self._drawn_for != probe:
            self._drawn_for = probe
            was_mine = self._reserved == (pace.epoch, pace.probes - 1)
            wait = LOT if was_mine else LOT * self._context.draw()
            self._context.later(wait, lambda: self._take_turn(probe, serve))
        return False

    def _take_turn(self, probe: Probe, serve: Callable[[], None]) -> None:
        """Give this worker the turn to send this probe, and let `serve` send it."""
        self._turn_for = probe
        serve()

    def next_text(self, gate: Gate, *, waiting: int | None) -> bytes:
        """Return the record to write for a gate, with a probe reserved if one is wanted.

        `waiting` deliveries wait at this worker; None if it has no lanes there. Such a worker does
        not know whether the origin is still down: it only takes its name out of the record.
        """
        now, pace = self._context.now(), gate.pace
        if waiting is None and pace.phase is Phase.OPEN:
            self._reserving = None
            return replace_workers(self.text, self._others)
        reserves = self.wants_probe and pace.phase is Phase.OPEN
        self._reserving = (pace.epoch, pace.probes) if reserves else None
        if reserves:
            total = max(1, self.waiting_elsewhere + (waiting or 0))
            # Without jitter: the gate draws it when the probe goes, and the record follows then.
            pace = probed(gate.rule, pace, now=now, waiting=total, draw=0.0)
        if pace.phase is Phase.OPEN and (reserves or gate.in_flight):
            pace = pace.replace(probe_at=max(pace.probe_at, now + AHEAD))
        # The writer comes first: no two workers write the same text.
        mine = {} if waiting is None else {self._fleet.worker: waiting}
        workers = {} if pace.phase is Phase.CLOSED else {**mine, **self._others}
        return write_record(scaled(pace, 1 / self._share), workers)

    def written(self, text: bytes) -> bool:
        """Take over the text that was written; return whether a probe was reserved with it.

        A probe that was wanted only after the text was made is reserved with the next one.
        """
        self.read(text)
        if self._reserving is None:
            return False
        self.wants_probe, self._reserved = False, self._reserving
        return True

    def drop_wish(self) -> None:
        """Reserve no probe with the next write: another worker has probed."""
        self.wants_probe = False

    def may_still_reserve(self, gate: Gate, before: Pace) -> bool:
        """Return whether a probe that was brought forward may still be reserved.

        It may if no worker has probed since. `before` is what the record said then.
        """
        is_early = gate.pace.probe_at < before.probe_at
        return self.wants_probe and is_early and self.pace.probes == gate.pace.probes

    # --- Shares ---------------------------------------------------------------------------------

    @property
    def _others(self) -> dict[str, int]:
        """Return the other workers and how many deliveries wait there."""
        worker = self._fleet.worker
        return {name: waiting for name, waiting in self.workers.items() if name != worker}

    @property
    def names_this_worker(self) -> bool:
        """Whether the record names this worker."""
        return self._fleet.worker in self.workers

    @property
    def has_others(self) -> bool:
        """Whether the record names other workers."""
        return bool(self._others)

    @property
    def sharers(self) -> int:
        """How many workers wait for the origin, this one included."""
        return int(max(1, min(1 + len(self._others), self._fleet.alive)))

    @property
    def waiting_elsewhere(self) -> int:
        """How many deliveries wait at other workers; some that are named may be dead."""
        others = self._others
        return sum(others.values()) * (self.sharers - 1) // max(1, len(others))

    @property
    def is_of_another_outage(self) -> bool:
        """Whether another worker has written that the origin is down."""
        writer = next(iter(self.workers), self._fleet.worker)
        return self.pace.phase is Phase.OPEN and writer != self._fleet.worker

    def is_outdated(self, waiting: int | None) -> bool:
        """Return whether the record is out of date about this worker, where `waiting` wait."""
        known = self.workers.get(self._fleet.worker)
        if known is None or waiting is None:
            return known is not waiting
        return waiting > 2 * known + 100

    def scale_gate_to_share(self, gate: Gate, waiting: int) -> None:
        """Scale the gate to this worker's share while it is paced, and back when it is not.

        Half of the pace is divided evenly between workers, and half by how many deliveries wait.
        """
        self.wants_probe = False
        share = 1.0
        if gate.phase is Phase.PACED and self.sharers > 1:
            total = max(1, waiting + self.waiting_elsewhere)
            share = 0.5 / self.sharers + 0.5 * waiting / total
        if share != self._share:
            gate.scale(share / self._share)
            self._share = share


# --- The record as it is stored -----------------------------------------------------------------


def write_record(pace: Pace, workers: Mapping[str, int]) -> bytes:
    """Return the record: a pace, and the workers that share it, with how many wait at each."""
    names = _names(workers)
    return write_pace(pace, workers=names) if names else write_pace(pace)


def replace_workers(text: bytes, workers: Mapping[str, int]) -> bytes:
    """Return a record that names these workers instead, and says the same otherwise."""
    fields = msgspec.json.decode(text, type=dict[str, int | float | str])
    fields["workers"] = _names(workers)
    return msgspec.json.encode({name: value for name, value in fields.items() if value != ""})


def _names(workers: Mapping[str, int]) -> str:
    """Return the workers as text of a record: each name with its waiting deliveries."""
    return " ".join(f"{name}:{waiting}" for name, waiting in workers.items())


def read_workers(text: bytes) -> dict[str, int]:
    """Return the workers that share a record, and how many deliveries wait at each."""
    try:
        fields = msgspec.json.decode(text, type=dict[str, float | str])
        pairs = [name.rpartition(":") for name in str(fields.get("workers", "")).split()]
        return {name: int(waiting) for name, _, waiting in pairs}
    except (msgspec.DecodeError, ValueError):
        return {}

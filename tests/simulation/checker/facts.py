"""The log of a history, sorted by what the rules ask for."""

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from tests.simulation.log import (
    Accepted,
    Acknowledged,
    Answered,
    Asked,
    Ending,
    EndpointChanged,
    Entry,
    Fault,
    Lost,
    Requested,
)

Place = tuple[str, str]
"""A message and an endpoint."""

SUDDEN = frozenset({"clock step", "failover"})
"""Faults that let two workers believe at the same time that they own a lane."""


DELAYS = frozenset({"handed over", "nobody at work"})
"""What takes time, and is no excuse for anything else."""


LATELY = 60.0
"""Seconds after which nobody remembers that an endpoint took something."""


class Violation(Struct, frozen=True):
    """A promise that was not kept: when, which rule, and what happened."""

    at: float
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.at:.3f} s: {self.text}"


class Facts:
    """What happened, by message and by endpoint."""

    def __init__(self, entries: Sequence[Entry], ending: Ending) -> None:
        self.entries, self.ending = entries, ending
        self.faults: list[Fault] = []
        self.losses: list[Lost] = []
        self.accepted: dict[str, Accepted] = {}
        self.acknowledged: list[Acknowledged] = []
        self.asked: list[Asked] = []
        self.changes: defaultdict[str, list[EndpointChanged]] = defaultdict(list)
        self.requests: defaultdict[Place, list[Requested]] = defaultdict(list)
        self.at_endpoint: defaultdict[str, list[Requested]] = defaultdict(list)
        self.answers: dict[int, Answered] = {}
        for entry in entries:
            self._sort(entry)

    def _sort(self, entry: Entry) -> None:
        match entry:
            case Requested():
                self.requests[entry.message, entry.endpoint].append(entry)
                self.at_endpoint[entry.endpoint].append(entry)
            case Answered():
                self.answers[entry.request] = entry
            case Accepted():
                self.accepted[entry.message] = entry
            case Acknowledged():
                self.acknowledged.append(entry)
            case EndpointChanged():
                self.changes[entry.endpoint.id].append(entry)
            case Asked():
                self.asked.append(entry)
            case Fault():
                self.faults.append(entry)
            case Lost():
                self.losses.append(entry)
            case _:
                pass

    def application(self, endpoint: str) -> str:
        """Return whose an endpoint is."""
        return self.changes[endpoint][0].endpoint.application

    def event_type(self, request: Requested) -> str:
        """Return the event type of a request's message."""
        accepted = self.accepted.get(request.message)
        return "" if accepted is None else accepted.event_type

    def was_lost(self, at: float) -> bool:
        """Whether a failover lost a commit that was made at an instant."""
        return any(loss.since < at <= loss.at for loss in self.losses)

    def fault_between(
        self, since: float, until: float, *, worker: str | None = None
    ) -> Fault | None:
        """Return a fault in force between two instants that hit everybody, or this worker."""
        for fault in self.faults:
            hit = worker is None or fault.process in {None, worker}
            in_force = fault.at <= until and fault.until >= since
            about_all = fault.message is None and fault.kind not in DELAYS
            if hit and in_force and about_all:
                return fault
        return None

    def poisoned_between(self, since: float, until: float, *, message: str) -> bool:
        """Whether settlements of a message could not be written at some time in between."""
        return any(
            fault.message == message and fault.at <= until and fault.until >= since
            for fault in self.faults
        )

    def sudden_between(self, since: float, until: float) -> bool:
        """Whether a fault was in force that can make two workers own a lane at the same time."""
        return any(
            fault.kind in SUDDEN and fault.at <= until and fault.until >= since
            for fault in self.faults
        )

    def asked_between(
        self, since: float, until: float, *, endpoint: str, message: str | None = None
    ) -> list[Asked]:
        """Return what people asked for between two instants, of an endpoint (and a message)."""
        return [
            one
            for one in self.asked
            if since <= one.at <= until
            and one.endpoint in (None, endpoint)
            and (message is None or one.message in (None, message))
        ]

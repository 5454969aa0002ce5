"""The log of a history, indexed for the rules."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import Struct

from tarry.service.model.endpoint import Endpoint
from tests.simulation.log import (
    Accepted,
    Answered,
    ApplicationAdded,
    Asked,
    Ending,
    EndpointChanged,
    Entry,
    Fault,
    Lost,
    Requested,
)

EntryT = TypeVar("EntryT", bound=Entry)
Place = tuple[str, str]
"""A message and an endpoint."""

SUDDEN = frozenset({"clock step", "failover"})
"""Faults that let two workers believe at the same time that they own a lane."""


DELAYS = frozenset({"handed over", "nobody at work"})
"""Faults that only delay, and excuse nothing else."""


OF_WORKERS = frozenset({"killed", "ended", "suspended"})
"""Faults of a worker alone: all that it has written is there."""


LATELY = 60.0
"""Seconds after which the service has forgotten that an endpoint accepted a message."""


class Violation(Struct, frozen=True):
    """A promise that was not kept: when, which rule, and what happened."""

    at: float
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.at:.3f} s: {self.text}"


class Facts:
    """The entries of the log, by message and by endpoint."""

    def __init__(self, entries: Sequence[Entry], ending: Ending) -> None:
        self.entries, self.ending = entries, ending
        self._by_kind: defaultdict[type, list[Any]] = defaultdict(list)
        for entry in entries:
            self._by_kind[type(entry)].append(entry)
        self.faults = self.all(Fault)
        self.losses = self.all(Lost)
        self.asked = self.all(Asked)
        self.accepted = {entry.message: entry for entry in self.all(Accepted)}
        self.answers = {entry.request: entry for entry in self.all(Answered)}
        self.rates = {entry.application: entry.rate for entry in self.all(ApplicationAdded)}
        """The rate of each application."""
        self.changes: defaultdict[str, list[EndpointChanged]] = defaultdict(list)
        for change in self.all(EndpointChanged):
            self.changes[change.endpoint.id].append(change)
        self.requests: defaultdict[Place, list[Requested]] = defaultdict(list)
        self.at_endpoint: defaultdict[str, list[Requested]] = defaultdict(list)
        for request in self.all(Requested):
            self.requests[request.message, request.endpoint].append(request)
            self.at_endpoint[request.endpoint].append(request)
        self.unwanted: dict[str, frozenset[int]] = {}
        """The requests with unwanted event types, of the endpoints that a rule asked about."""

    def all(self, kind: type[EntryT]) -> list[EntryT]:
        """Return all entries of one kind, in the order in which things happened."""
        return self._by_kind[kind]

    def application(self, endpoint: str) -> str:
        """Return the application of an endpoint."""
        return self.changes[endpoint][0].endpoint.application

    def endpoint_at(self, endpoint: str, at: float) -> Endpoint:
        """Return an endpoint as it was in the store at an instant."""
        changes = self.changes[endpoint]
        return next(
            (one.endpoint for one in reversed(changes) if one.at <= at), changes[0].endpoint
        )

    def event_type(self, request: Requested) -> str:
        """Return the event type of a request's message."""
        accepted = self.accepted.get(request.message)
        return "" if accepted is None else accepted.event_type

    def was_lost(self, at: float) -> bool:
        """Whether a failover lost a commit that was made at an instant.

        A commit at the very instant at which the standby stopped following counts as lost.
        """
        return any(loss.since <= at <= loss.at for loss in self.losses)

    def fault_between(
        self, since: float, until: float, *, worker: str | None = None
    ) -> Fault | None:
        """Return a fault between two instants that hit all processes, or this worker."""
        for fault in self.faults:
            hit = worker is None or fault.process in {None, worker}
            in_force = fault.at <= until and fault.until >= since
            about_all = fault.message is None and fault.kind not in DELAYS
            if hit and in_force and about_all:
                return fault
        return None

    def store_failed_between(self, since: float, until: float) -> bool:
        """Whether a worker may not have been able to write, or its commits may have been lost."""
        return any(
            fault.kind not in OF_WORKERS | DELAYS and fault.at <= until and fault.until >= since
            for fault in self.faults
        )

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
        """Return people's requests between two instants, for an endpoint (and a message)."""
        return [
            one
            for one in self.asked
            if since <= one.at <= until
            and one.endpoint in (None, endpoint)
            and (message is None or one.message in (None, message))
        ]

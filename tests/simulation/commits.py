"""Writes each commit of the store that concerns the promise into the log."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from tarry.service.model.application import Application, shard_of
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, LaneRow, Lease
from tarry.service.model.message import Accepted as AcceptedMessage
from tarry.service.model.message import NewMessage
from tarry.service.model.task import Task, Work
from tarry.service.store.contract import Store
from tarry.service.store.kinds import Endpoints, Lanes
from tests.simulation.log import (
    Accepted,
    ApplicationAdded,
    Asked,
    EndpointChanged,
    Leased,
    Log,
    Settled,
)
from tests.simulation.loop import Process
from tests.simulation.store_link import at_once

NOTED = frozenset(
    {
        "settle",
        "add",
        "lease",
        "advance",
        "put",
        "change",
        "delete",
        "resend",
        "cancel",
        "add_task",
    }
)
"""The methods of the store whose commits concern the promise."""
WISHES = {Work.RECOVER: "recover", Work.REPLAY_MISSING: "replay", Work.BULK_REPLAY: "replay"}


class Known:
    """The store's answers so far, as far as a failover can undo them."""

    def __init__(self) -> None:
        self.applications: dict[str, None] = {}
        self.endpoints: dict[str, Endpoint] = {}
        self.lanes: dict[int, str] = {}
        """The endpoint of each lane."""
        self.accepted: dict[str, Accepted] = {}
        self.epochs: dict[int, int] = {}

    def snapshot(self) -> "Known":
        """Return a copy that does not change any more."""
        kept = copy(self)
        for name, values in vars(self).items():
            setattr(kept, name, dict(values))
        return kept


class Commits:
    """Observes all commits. `names` gets the id of the endpoint at each path.

    `clock_ahead` is how far the store's clock is ahead of true time.
    """

    def __init__(
        self,
        log: Log,
        store: Store,
        *,
        names: dict[str, str],
        now: Callable[[], float],
        clock_ahead: Callable[[], float],
    ) -> None:
        self._log, self._store, self._names = log, store, names
        self._now, self._clock_ahead = now, clock_ahead
        self.known = Known()

    def made(
        self,
        process: Process,
        method: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        answer: Any,  # noqa: ANN401  the store's
    ) -> None:
        """Log a commit that was made for a process."""
        if method not in NOTED:
            return
        match method:
            case "settle":
                self._settled(process, args[0], answer)
                self._stood(args[1])
            case "add":
                self._added(args[0], answer)
            case "lease":
                self._leased(process, answer)
            case "advance":
                task: Task = args[0]
                if task.work in WISHES and answer.done > task.done:
                    self._asked("replayed", endpoint=task.endpoint)
            case _:
                self._changed_by_person(method, args, kwargs, answer)

    def _changed_by_person(
        self,
        method: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        answer: Any,  # noqa: ANN401  likewise
    ) -> None:
        match method:
            case "put" | "change":
                self._put(answer)
            case "delete" if isinstance(args[0], Endpoints):
                gone = self.known.endpoints[args[1]].stand(Standing.DELETED, kwargs["now"])
                self._changed(gone)
            case "resend":
                self._asked(method, endpoint=args[0].id, message=args[1])
            case "cancel":
                self._asked(method, message=args[1])
            case "add_task":
                self._asked(WISHES[args[0].work], endpoint=args[0].endpoint)
            case _:
                pass

    def fall_back(self, kept: Known) -> None:
        """Forget the commits that a failover lost, so that endpoints are as they were before."""
        lost, self.known = self.known, kept
        for endpoint in kept.endpoints.values():
            if lost.endpoints[endpoint.id] != endpoint:
                self._log.add(EndpointChanged(self._now(), endpoint))

    def _asked(self, wish: str, *, endpoint: str | None = None, message: str | None = None) -> None:
        self._log.add(Asked(at=self._now(), wish=wish, endpoint=endpoint, message=message))

    def _put(self, record: object) -> None:
        if isinstance(record, Application):
            self.known.applications[record.id] = None
            self._log.add(ApplicationAdded(self._now(), record.id, record.rate))
        elif isinstance(record, Endpoint):
            self._changed(record)

    def _changed(self, endpoint: Endpoint) -> None:
        endpoint = replace(endpoint, secrets=())  # sealed, they differ from run to run
        before = self.known.endpoints.get(endpoint.id)
        self.known.endpoints[endpoint.id] = endpoint
        self.known.lanes[endpoint.lane] = endpoint.id
        self._names[urlsplit(endpoint.url).path] = endpoint.id
        if before is not None and before.probed_at != endpoint.probed_at:
            self._asked("probe", endpoint=endpoint.id)
        else:
            self._log.add(EndpointChanged(self._now(), endpoint))

    def _stood(self, changes: Sequence[Change]) -> None:
        """Log the endpoints that a worker paused or disabled, unless the store refused it."""
        for change in changes:
            if change.standing is None or change.lane not in self.known.lanes:
                continue  # a failover may have lost the lane
            known = self.known.endpoints[self.known.lanes[change.lane]]
            row: LaneRow = at_once(self._store.get(Lanes(known.application), known.id))
            if row.endpoint.standing is not known.standing:
                self._changed(row.endpoint)

    def _leased(self, process: Process, leases: Sequence[Lease]) -> None:
        for lease in leases:
            self.known.epochs[lease.shard] = lease.epoch
            self._log.add(Leased(self._now(), process.name, lease.shard, lease.epoch))

    def _added(self, new: Sequence[NewMessage], answers: Sequence[object]) -> None:
        for one, answer in zip(new, answers, strict=True):
            if not isinstance(answer, AcceptedMessage) or answer.repeated:
                continue
            message = one.message
            endpoints = tuple(
                endpoint.id
                for endpoint in self.known.endpoints.values()
                if endpoint.application == message.application
                and endpoint.standing is not Standing.DELETED
                and endpoint.wants(message.event_type, message.channels)
            )
            due = message.deliver_at
            entry = Accepted(
                at=self._now(),
                message=message.id,
                application=message.application,
                endpoints=endpoints,
                scheduled_for=None if due is None else due - self._clock_ahead(),
                key=one.key,
                event_type=message.event_type,
            )
            self.known.accepted[message.id] = entry
            self._log.add(entry)

    def _settled(
        self, process: Process, settlements: Sequence[Settlement | Resent], made: Sequence[bool]
    ) -> None:
        for settlement, done in zip(settlements, made, strict=True):
            if not done or isinstance(settlement, Resent) or settlement.attempt is None:
                continue
            endpoint = self.known.endpoints[self.known.lanes[settlement.lane]]
            shard = shard_of(endpoint.application)
            self._log.add(
                Settled(
                    at=self._now(),
                    worker=process.name,
                    shard=shard,
                    epoch=self.known.epochs.get(shard, 0),
                    endpoint=endpoint.id,
                    message=settlement.attempt.message,
                    number=settlement.attempt.number,
                    state=settlement.state,
                )
            )

"""The data of the memory store, with lookups that all its parts use."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from tarry.errors import NotFound
from tarry.service.model.application import SHARDS, Application, shard_of
from tarry.service.model.attempt import Attempt
from tarry.service.model.audit import Action, AuditEntry, Target
from tarry.service.model.claim import Claim
from tarry.service.model.data_key import DataKey
from tarry.service.model.delivery import LIVE, Delivery
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key
from tarry.service.model.lane import LaneRow, Lease, Notice
from tarry.service.model.message import Message
from tarry.service.model.task import Task
from tarry.service.store.contract import Nudge
from tarry.service.store.memory.lane import Lane


class Shard(Struct):
    """The owner of a shard and the end of its lease; free if `worker` is empty."""

    worker: str = ""
    epoch: int = 0
    until: float = 0.0


class Data:
    """All data by id. A method never awaits, so each one leaves the data consistent."""

    attempts: defaultdict[str, list[Attempt]]
    tasks: dict[str, Task]
    nudges: list[Nudge]
    event_types: dict[tuple[str, str], EventType]
    api_keys: dict[str, Key]
    claims: dict[tuple[str, str], Claim]

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.environments: dict[str, str | None] = {}
        self.applications: dict[str, Application] = {}
        self.hidden: set[str] = set()
        self.messages: dict[str, Message] = {}
        self.event_ids: dict[tuple[str, str], str] = {}
        self.keys: dict[tuple[str, str], tuple[bytes, str]] = {}
        self.lanes: dict[int, Lane] = {}
        self.lane_numbers: dict[str, int] = {}
        self.lanes_of: defaultdict[str, list[Lane]] = defaultdict(list)
        self.positions: defaultdict[str, list[tuple[Lane, int]]] = defaultdict(list)
        self.attempts = defaultdict(list)
        self.notices: dict[str, Notice] = {}
        self.sent: set[str] = set()
        self.audit: dict[str, AuditEntry] = {}
        self.event_types, self.api_keys, self.claims = {}, {}, {}
        self.kept: dict[str, bytes] = {}
        self.data_keys: dict[str, DataKey] = {}
        self.tasks = {}
        self.policies: dict[str, str] = {}
        self.origins: dict[str, bytes] = {}
        self.shards = [Shard() for _ in range(SHARDS)]
        self.workers: dict[str, float] = {}
        self.woken: set[int] = set()
        self.nudges = []

    def write_entry(self, by: Action | None, target: Target) -> None:
        """Write an entry into the audit trail, unless nobody acts or the entry is there already."""
        if by is not None:
            entry = by.entry(target)
            self.audit.setdefault(entry.id, entry)

    def application(self, application: str) -> Application:
        """Return an application that is not hidden; NotFound otherwise."""
        if application not in self.applications or application in self.hidden:
            raise NotFound("application", application)
        return self.applications[application]

    def message(self, application: str, message: str) -> Message:
        """Return a message of this application by id; NotFound otherwise."""
        stored = self.messages.get(message)
        if stored is None or stored.application != application:
            raise NotFound("message", message)
        return stored

    def lane_of(self, endpoint: str) -> Lane | None:
        """Return an endpoint's lane, even of a deleted endpoint."""
        return self.lanes.get(self.lane_numbers.get(endpoint, 0))

    def row(self, lane: Lane) -> LaneRow:
        """Return a lane as the store's callers see it."""
        application = self.applications[lane.endpoint.application]
        return LaneRow(
            endpoint=lane.endpoint,
            application=application,
            policy=self.environments.get(application.environment),
            known=lane.known,
            added=lane.added,
            ended=lane.ended,
            version=lane.version,
        )

    def deliveries(self, message: str) -> Iterator[tuple[Lane, Delivery]]:
        """Return all deliveries of a message, each with its lane."""
        return ((lane, lane.deliveries[seq]) for lane, seq in self.positions.get(message, ()))

    def deliver(self, lane: Lane, delivery: Delivery) -> None:
        """Add a delivery to a lane; its number must be the lane's next one."""
        lane.put(delivery)
        self.positions[delivery.message].append((lane, delivery.seq))

    def erase_data_key(self, application: str) -> DataKey | None:
        """Delete an application's data key, and return it; None if there is none."""
        for data_key in self.data_keys.values():
            if data_key.application == application:
                return self.data_keys.pop(data_key.id)
        return None

    def is_erased(self, sealed_with: str | None) -> bool:
        """Return whether a value is sealed with a data key that was erased."""
        return sealed_with is not None and sealed_with not in self.data_keys

    def has_ended(self, message: Message) -> bool:
        """Return whether a message has no live delivery and no resend."""
        if any(delivery.state in LIVE for _, delivery in self.deliveries(message.id)):
            return False
        lanes = self.lanes_of[message.application]
        return all(message.id not in lane.resends.values() for lane in lanes)

    def endpoints(self, lanes: Iterable[Lane]) -> list[Endpoint]:
        """Return the endpoints of lanes, by id."""
        return sorted((lane.endpoint for lane in lanes), key=lambda endpoint: endpoint.id)

    def holds(self, lease: Lease) -> bool:
        """Return whether the shard of a lease was neither taken nor given back since.

        The end of a lease does not matter here: it only says when other workers may take the shard.
        """
        shard = self.shards[lease.shard]
        return shard.worker == lease.worker and shard.epoch == lease.epoch

    def held(
        self, number: int, leases: Iterable[Lease], *, epoch: int | None = None
    ) -> Lane | None:
        """Return the lane if one of the leases, of this epoch if given, still holds its shard."""
        lane = self.lanes.get(number)
        if lane is None:
            return None
        shard = shard_of(lane.endpoint.application)
        for lease in leases:
            if lease.shard == shard and epoch in {None, lease.epoch} and self.holds(lease):
                return lane
        return None

    def wake(self, lane: Lane) -> None:
        """Wake a lane, so that its owner looks at it."""
        lane.resting = lane.dozing = False
        self.woken.add(lane.number)
        for nudge in self.nudges:
            asyncio.get_running_loop().call_soon(nudge)

    def wake_if_resting(self, lane: Lane) -> None:
        """Wake a lane if it is at rest or dozes; otherwise its owner looks at it anyway."""
        if lane.resting or lane.dozing:
            self.wake(lane)

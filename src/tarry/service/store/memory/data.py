"""What the memory store keeps, and the few questions that all its parts ask."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from tarry.errors import NotFound
from tarry.service.model.application import SHARDS, Application, shard_of
from tarry.service.model.attempt import Attempt
from tarry.service.model.claim import Claim
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
    """Who owns a shard until when; nobody if `worker` is empty."""

    worker: str = ""
    epoch: int = 0
    until: float = 0.0


class Data:
    """Everything, by id; a method that ends has left it whole: nothing here waits."""

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
        self.places: defaultdict[str, list[tuple[Lane, int]]] = defaultdict(list)
        self.attempts = defaultdict(list)
        self.notices: dict[str, Notice] = {}
        self.told: set[str] = set()
        self.event_types, self.api_keys, self.claims = {}, {}, {}
        self.kept: dict[str, bytes] = {}
        self.tasks = {}
        self.policies: dict[str, str] = {}
        self.origins: dict[str, bytes] = {}
        self.shards = [Shard() for _ in range(SHARDS)]
        self.workers: dict[str, float] = {}
        self.woken: set[int] = set()
        self.nudges = []

    def application(self, application: str) -> Application:
        """One that is not hidden; NotFound else."""
        if application not in self.applications or application in self.hidden:
            raise NotFound("application", application)
        return self.applications[application]

    def message(self, application: str, message: str) -> Message:
        """A message of this application, by id; NotFound else."""
        found = self.messages.get(message)
        if found is None or found.application != application:
            raise NotFound("message", message)
        return found

    def lane_of(self, endpoint: str) -> Lane | None:
        """An endpoint's lane, whether it is deleted or not."""
        return self.lanes.get(self.lane_numbers.get(endpoint, 0))

    def row(self, lane: Lane) -> LaneRow:
        """A lane as others see it."""
        return LaneRow(
            endpoint=lane.endpoint,
            application=self.applications[lane.endpoint.application],
            known=lane.known,
            added=lane.added,
            ended=lane.ended,
            version=lane.version,
        )

    def deliveries(self, message: str) -> Iterator[tuple[Lane, Delivery]]:
        """All deliveries of a message, each with its lane."""
        return ((lane, lane.deliveries[seq]) for lane, seq in self.places.get(message, ()))

    def deliver(self, lane: Lane, delivery: Delivery) -> None:
        """Add a delivery to a lane, which must have given it its number."""
        lane.put(delivery)
        self.places[delivery.message].append((lane, delivery.seq))

    def over(self, message: Message) -> bool:
        """Whether nothing of a message is still to be sent."""
        if any(delivery.state in LIVE for _, delivery in self.deliveries(message.id)):
            return False
        lanes = self.lanes_of[message.application]
        return all(message.id not in lane.resends.values() for lane in lanes)

    def endpoints(self, lanes: Iterable[Lane]) -> list[Endpoint]:
        """The endpoints of lanes, by id."""
        return sorted((lane.endpoint for lane in lanes), key=lambda endpoint: endpoint.id)

    def holds(self, lease: Lease) -> bool:
        """Return whether nobody has taken or given back the shard of a lease since.

        The time of a lease does not matter here: it only says from when on others may take it.
        """
        shard = self.shards[lease.shard]
        return shard.worker == lease.worker and shard.epoch == lease.epoch

    def held(self, lane: int, leases: Iterable[Lease], *, epoch: int | None = None) -> Lane | None:
        """Return the lane if one of the leases, of this epoch if given, still holds its shard."""
        found = self.lanes.get(lane)
        if found is None:
            return None
        shard = shard_of(found.endpoint.application)
        good = any(
            lease.shard == shard and epoch in {None, lease.epoch} and self.holds(lease)
            for lease in leases
        )
        return found if good else None

    def wake(self, lane: Lane) -> None:
        """Have its owner look at a lane."""
        lane.resting = lane.dozing = False
        self.woken.add(lane.number)
        for nudge in self.nudges:
            asyncio.get_running_loop().call_soon(nudge)

    def stir(self, lane: Lane) -> None:
        """Wake a lane if it is at rest or dozes: else its owner looks at it anyway."""
        if lane.resting or lane.dozing:
            self.wake(lane)

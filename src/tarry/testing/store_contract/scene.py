"""The setting of the tests: an application with an endpoint, and a worker that owns all shards."""

from collections.abc import Sequence
from typing import Any

from tarry.service.model.application import SHARDS, Application
from tarry.service.model.attempt import Attempt, Resent, Settlement
from tarry.service.model.delivery import LIVE, Delivery
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Change, Due, Fetched, LaneRow, Lease, Notice, Stream, Want
from tarry.service.model.listing import AttemptFilter, Cut, MessageFilter
from tarry.service.model.message import Accepted, Message
from tarry.service.model.task import Task
from tarry.service.store.contract import Store
from tarry.service.store.kinds import (
    AllDeliveriesOf,
    AttemptsTo,
    Endpoints,
    Environment,
    Lanes,
    Messages,
)
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    an_application,
    an_endpoint,
    new_message,
)

WORKER = "worker-1"
LEASE_LENGTH = 10.0
"""Seconds that a lease lasts."""
EVERYTHING = Cut(limit=10_000)
PLENTY_OF_BYTES = 1_000_000_000
"""More bytes than any test uses."""


class Scene:
    """An application with one endpoint, all shards leased, and shortcuts for tests."""

    def __init__(
        self, store: Store, application: Application, endpoint: Endpoint, leases: list[Lease]
    ) -> None:
        self.store = store
        self.application = application
        self.endpoint = endpoint
        self.endpoints = [endpoint]
        self.leases = leases

    @classmethod
    async def set_up(cls, store: Store) -> "Scene":
        """Create the application, its endpoint and the leases, and read the wake-up of the lane."""
        await store.put(Environment(ENVIRONMENT))
        application = an_application()
        await store.put(application)
        endpoint = await store.put(an_endpoint(application))
        leases = await store.lease(WORKER, most=SHARDS, length=LEASE_LENGTH)
        await store.woken(leases)
        return cls(store, application, endpoint, leases)

    @property
    def lane(self) -> int:
        """The number of the endpoint's lane."""
        return self.endpoint.lane

    @property
    def lease(self) -> Lease:
        """The lease of the shard that the application is in."""
        return next(lease for lease in self.leases if lease.shard == self.application.shard)

    async def add(self, **values: Any) -> Message:  # noqa: ANN401  the fields of a message
        """Add a message that must be accepted."""
        (answer,) = await self.store.add([new_message(self.application, **values)])
        assert isinstance(answer, Accepted), answer
        return answer.message

    async def note(self, *notices: Notice) -> None:
        """Save notices."""
        await self.store.change(
            Endpoints(self.application.id),
            self.endpoint.id,
            lambda stored: stored,
            noting=lambda _before, _after: notices,
        )

    async def delete_endpoint(self, endpoint: Endpoint | None = None) -> Task:
        """Delete an endpoint, the first one if none is given, at noon."""
        deleted = endpoint or self.endpoint
        return (await self.store.delete(Endpoints(deleted.application), deleted.id, now=NOON))[0]

    async def add_endpoint(self, **values: object) -> Endpoint:
        """Add an endpoint to the application, and read the wake-up of its lane."""
        endpoint = await self.store.put(an_endpoint(self.application, **values))
        await self.store.woken(self.leases)
        self.endpoints.append(endpoint)
        return endpoint

    async def fetch(
        self,
        stream: Stream = Stream.READY,
        *,
        now: float = NOON,
        **values: Any,  # noqa: ANN401  likewise
    ) -> Fetched:
        """Fetch from a stream of the lane, the endpoint's own unless `lane` is given."""
        want = Want(**{"lane": self.lane, "stream": stream, "limit": 100, **values})
        return await self.store.fetch([want], now=now, most_bytes=PLENTY_OF_BYTES)

    async def due(self, stream: Stream = Stream.READY, **values: Any) -> list[Due]:  # noqa: ANN401  likewise
        """Return the deliveries that a fetch from a stream of the lane gets."""
        return (await self.fetch(stream, **values)).due

    async def settle(
        self,
        *settlements: Settlement | Resent,
        changes: Sequence[Change] = (),
        leases: Sequence[Lease] | None = None,
    ) -> list[bool]:
        """Settle deliveries, as the owner of every shard unless `leases` are given."""
        held = self.leases if leases is None else leases
        return await self.store.settle(settlements, changes, held)

    async def row(self, endpoint: Endpoint | None = None) -> LaneRow:
        """Return the lane of the endpoint, or of another one."""
        endpoint = endpoint or self.endpoint
        return await self.store.get(Lanes(endpoint.application), endpoint.id)

    async def delivery(self, message: Message, endpoint: Endpoint | None = None) -> Delivery:
        """Return the delivery of a message to the endpoint, or to another one."""
        endpoint_id = (endpoint or self.endpoint).id
        deliveries = await self.store.read(AllDeliveriesOf(message.id))
        return next(delivery for receiver, delivery in deliveries if receiver.id == endpoint_id)

    async def messages(self, application: Application | None = None) -> list[Message]:
        """Return all messages of the application, or of another one."""
        application_id = (application or self.application).id
        return (
            await self.store.page(Messages(application_id, MessageFilter()), EVERYTHING)
        ).entries

    async def attempts_to(self, endpoint: Endpoint | None = None) -> list[Attempt]:
        """Return all attempts made at the endpoint, or at another one."""
        every_attempt = AttemptFilter()
        page = await self.store.page(
            AttemptsTo(endpoint or self.endpoint, every_attempt), EVERYTHING
        )
        return [attempt for attempt, _ in page.entries]

    async def rest(self) -> None:
        """Put the lane, which has nothing to send, to rest."""
        added_before = (await self.row()).added
        assert await self.store.rest({self.lane: added_before}, self.leases) == {self.lane}

    async def check_counts(self) -> None:
        """Check that the counts in the lanes' rows match their deliveries."""
        for row in await self.store.lanes([endpoint.lane for endpoint in self.endpoints]):
            counts = await self.store.counts(row.lane)
            live = sum(count for state, count in counts.items() if state in LIVE)
            assert row.waiting == live, f"{row.waiting} are counted as live, {live} are"
            assert row.added >= sum(counts.values())

"""The machine's state between its steps."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from hypothesis.stateful import RuleBasedStateMachine
from msgspec import Struct

from tarry.errors import ServiceError
from tarry.service.model.application import Application
from tarry.service.model.audit import Action, ActorKind, AuditFilter
from tarry.service.model.claim import Claim
from tarry.service.model.delivery import LIVE, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.ids import CHANCE, make
from tarry.service.model.key import Key
from tarry.service.model.lane import Due, Lease
from tarry.service.model.listing import AttemptFilter, Cut, DeliveryFilter, MessageFilter
from tarry.service.model.message import Message
from tarry.service.model.task import Task
from tarry.service.store.contract import Store
from tarry.service.store.kinds import (
    AllAttemptsOf,
    AllDeliveriesOf,
    AllTasksOf,
    Applications,
    AttemptsOf,
    AttemptsTo,
    AuditTrail,
    DeliveriesTo,
    Endpoints,
    Environments,
    Keys,
    Lanes,
    Messages,
    Notices,
    SealedEndpoints,
    Tasks,
    Undelivered,
)
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import ALL_SHARDS, ENVIRONMENT, NOON
from tarry.testing.store_machine.sides import Lane, Run, Side, Sides

WORKERS = ("worker-1", "worker-2")
HIGH_LIMIT = 10_000
ALL, NEWEST = Cut(limit=HIGH_LIMIT), Cut(limit=HIGH_LIMIT, descending=True)
CUTS = (NEWEST, Cut(limit=2), Cut(limit=3, back=True))
MESSAGES = (
    MessageFilter(),
    MessageFilter(channel="eu"),
    MessageFilter(event_types=("a",), channel="us"),
)
STATES = (None, LIVE, frozenset({State.FAILED}), frozenset({State.DELIVERED, State.SKIPPED}))

Answer = TypeVar("Answer")
Thing = TypeVar("Thing")


class Opened(Struct):
    """An empty real store; `later` lets seconds pass for its leases."""

    store: Store
    run: Run
    later: Callable[[float], Coroutine[Any, Any, None]]
    write_to_outbox: Callable[[Message], None] | None = None
    """Writes a message into the outbox table; None for a store without one."""


class Machine(RuleBasedStateMachine):
    """Both stores, and the records created in them so far, with the model's lane numbers."""

    applications: list[Application]
    endpoints: list[Endpoint]
    messages: list[str]
    tasks: list[Task]
    due: list[Due]
    leases: dict[str, dict[int, Lease]]
    claims: dict[tuple[str, str], Claim]
    api_keys: list[Key]

    def __init__(self) -> None:
        super().__init__()
        self.now = NOON
        self.lease_time = 0.0
        self.ids_created = self.actions = 0
        self.opened = self.open()
        model = MemoryStore(lambda: self.lease_time)
        self.sides = Sides(model, self.opened.store, self.opened.run)
        self.applications, self.endpoints, self.messages = [], [], []
        self.tasks, self.due = [], []
        self.leases = {worker: {} for worker in WORKERS}
        self.claims, self.api_keys = {}, []

    def open(self) -> Opened:
        """Open a real store to compare with the model."""
        raise NotImplementedError

    def ask(self, call: Callable[[Side], Awaitable[Answer]]) -> Answer | None:
        """Return what both stores answer; None if both refuse."""
        answer = self.sides.ask(call)
        return None if isinstance(answer, ServiceError) else answer

    def id(self, prefix: str) -> str:
        """Return an id that is the same whenever the same steps are done."""
        self.ids_created += 1
        return make(prefix, now=NOON + (self.ids_created + 0.5) / 1000, entropy=bytes(19))

    def act(self) -> Action:
        """Return an action of somebody, which is the same whenever the same steps are done."""
        self.actions += 1
        return Action(
            environment=ENVIRONMENT,
            at=self.now,
            actor=ActorKind.KEY,
            key=f"key_{self.actions % 3}",
            operation="step",
            chance=self.actions.to_bytes(CHANCE),
        )

    def pick_one(self, things: Sequence[Thing], pick: int) -> Thing:
        """Return the thing at this position, counted around the list."""
        return things[pick % len(things)]

    def pick_some(self, things: Sequence[Thing], picks: Iterable[int]) -> list[Thing]:
        """Return the things at these positions, each once."""
        positions = {pick % len(things) for pick in picks} if things else set()
        return [things[position] for position in sorted(positions)]

    def teardown(self) -> None:
        """Check at the end that all rows are the same and the counts are right."""
        if self.sides.agree:
            self.ask(_read_environment)
            for application in self.applications:
                self.ask(partial(_read_application, application=application.id))
            for endpoint in self.endpoints:
                self.ask(partial(_read_lane, endpoint=endpoint))
            for message in self.messages:
                self.ask(partial(_read_message, message=message))
            for task in self.tasks:
                self.ask(partial(_read_task, task=task.id))


async def _read_environment(side: Side) -> list[object]:
    """Read what a store says about the environment as a whole, to compare the two stores."""
    store = side.store
    return [
        sorted([environment.id for environment in await store.read(Environments())]),
        (await store.page(Applications(ENVIRONMENT), ALL)).entries,
        (await store.page(Tasks(ENVIRONMENT), NEWEST)).entries,
        (await store.page(Keys(ENVIRONMENT), ALL)).entries,
        [
            await store.page(AuditTrail(ENVIRONMENT, audit_filter), cut)
            for cut in CUTS
            for audit_filter in (AuditFilter(), AuditFilter(actor="key_1"))
        ],
        await store.read(Notices(limit=HIGH_LIMIT)),
        await store.read(SealedEndpoints(limit=HIGH_LIMIT)),
        sorted(map(Lane, await store.awake(ALL_SHARDS))),
    ]


async def _read_application(side: Side, application: str) -> list[object]:
    """Read what a store says about an application, to compare the two stores."""
    store = side.store
    return [
        [
            await store.page(Messages(application, message_filter), cut)
            for cut in CUTS
            for message_filter in MESSAGES
        ],
        await store.read(Undelivered(application, limit=HIGH_LIMIT)),
        (await store.page(Endpoints(application), ALL)).entries,
        await store.read(AllTasksOf(application)),
    ]


async def _read_lane(side: Side, endpoint: Endpoint) -> list[object]:
    """Read what a store says about an endpoint's lane, to compare the two stores."""
    store = side.store
    row = await store.get(Lanes(endpoint.application), endpoint.id)
    counts = await store.counts(row.lane)
    live = sum(count for state, count in counts.items() if state in LIVE)
    assert row.waiting == live, f"{row.waiting} are counted as live, {live} are"  # noqa: S101  a test
    endpoint = row.endpoint
    return [
        row,
        {state: count for state, count in counts.items() if count},
        await store.read(Undelivered(endpoint.application, lane=endpoint.lane, limit=3)),
        [
            await store.page(
                DeliveriesTo(endpoint, DeliveryFilter(message=message_filter, states=states)), cut
            )
            for cut in CUTS
            for message_filter in MESSAGES
            for states in STATES
        ],
        [
            await store.page(AttemptsTo(endpoint, AttemptFilter(succeeded=succeeded)), cut)
            for cut in CUTS
            for succeeded in (None, True, False)
        ],
        await store.count_deliveries(endpoint, since=NOON, until=NOON + 5),
        await store.count_attempts(endpoint, since=NOON, until=NOON + 1),
    ]


async def _read_message(side: Side, message: str) -> list[object]:
    """Read what a store says about a message, to compare the two stores."""
    store = side.store
    return [
        await store.read(AllDeliveriesOf(message)),
        await store.read(AllAttemptsOf(message)),
        [await store.page(AttemptsOf(message, AttemptFilter()), cut) for cut in CUTS],
    ]


async def _read_task(side: Side, task: str) -> Task:
    """Read a task from a store."""
    return await side.store.get(Tasks(ENVIRONMENT), task)

"""The service inside a program of your own: add endpoints, send, look, dispatch.

Everything is asynchronous and belongs to the event loop it was opened on. The HTTP API uses the
same methods. `build` opens a database and makes its hooks.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import copy
from typing import Unpack

from msgspec.structs import replace

from tarry.errors import Conflict, NotFound
from tarry.service.audit import Actors
from tarry.service.dispatch.dispatcher import Dispatcher
from tarry.service.endpoints import Endpoints
from tarry.service.explain import Explanation, explain, never_meant, origins_of
from tarry.service.fields import ApplicationFields, check_policy, checked_application
from tarry.service.keys import Keys
from tarry.service.last_attempt import attempted_at
from tarry.service.messages import Messages
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.ids import entropy
from tarry.service.model.lane import LaneRow
from tarry.service.model.message import Message
from tarry.service.model.redaction import Redaction
from tarry.service.model.task import Task
from tarry.service.model.text import check_text
from tarry.service.replays import Replays
from tarry.service.sealing.data_keys import DataKeys
from tarry.service.sealing.sealed_store import sealed_store
from tarry.service.settings import Settings
from tarry.service.store.contract import Store
from tarry.service.store.kinds import (
    AllAttemptsOf,
    AllDeliveriesOf,
    Applications,
    Environment,
    Lanes,
)
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import Sender
from tarry.service.wire.seal import Seals

DEFAULT = "org_default"
"""The environment of programs that need only one."""


class Hooks(Actors, Endpoints, Messages, Keys, Replays):
    """A database of webhooks, opened by `open_hooks`."""

    def __init__(  # noqa: PLR0913  the parts that it is built from
        self,
        settings: Settings,
        store: Store,
        *,
        seals: Seals,
        egress: Egress,
        make_sender: Callable[[], Sender],
        environment: str = DEFAULT,
        now: Callable[[], float] = time.time,
        chance: Callable[[int], bytes] = entropy,
    ) -> None:
        self.settings, self.environment = settings, environment
        self.store = sealed_store(store, seals, seal_payloads=settings.seal_payloads)
        self.redaction = Redaction.of(settings.redact)
        self.seals, self.egress = seals, egress
        self._make_sender = make_sender
        self._now, self._chance = now, chance
        self.dispatcher: Dispatcher | None = None
        """The running dispatcher of this process, from when it is ready until it is stopped."""
        self.running: asyncio.Task[None] | None = None
        """The dispatcher's task, while there is one: it ends by itself only if it fails."""

    def within(
        self,
        environment: str,
        *,
        now: Callable[[], float] | None = None,
        chance: Callable[[int], bytes] | None = None,
    ) -> "Hooks":
        """Return a copy for another environment, maybe with another clock and random source."""
        other = copy(self)
        other.environment, other.running = environment, None
        other._now, other._chance = now or self._now, chance or self._chance  # noqa: SLF001  its own
        return other

    # --- Applications ---------------------------------------------------------------------------

    async def application(
        self, uid: str, *, name: str = "", **fields: Unpack[ApplicationFields]
    ) -> Application:
        """Return the application with this uid or id; create it, or change the given fields."""
        check_text("uid", uid)
        changes, now = checked_application(fields, self.settings.sizes), self._now()
        if name:
            changes["name"] = name
        try:
            application = await self.store.get(Applications(self.environment), uid)
        except NotFound:
            new = Application(
                id=self.new_id(ids.APPLICATION),
                environment=self.environment,
                uid=uid,
                created_at=now,
                updated_at=now,
                **{"name": uid, **changes},
            )
            try:
                await self.store.put(new, by=self.by("application"))
            except Conflict:  # another caller created it just now
                return await self.application(uid, name=name, **fields)
            return new
        if changes:
            application = await self.store.change(
                Applications(application.environment),
                application.id,
                lambda stored: replace(stored, updated_at=now, **changes),
                by=self.by("application"),
            )
        return application

    async def delete_application(self, application: Application) -> list[Task]:
        """Delete an application; its waiting deliveries are discarded, piece by piece.

        NotFound if it is deleted already.
        """
        return await self.store.delete(
            Applications(application.environment),
            application.id,
            now=self._now(),
            by=self.by("delete_application"),
        )

    async def erase_payloads(self, application: Application) -> bool:
        """Delete an application's data key; return whether it had one.

        Its sealed payloads and responses can never be opened again, and its deliveries that wait
        with such a payload are discarded. New messages get a new key. What was stored unsealed
        stays as it is: see `purge`.
        """
        by = self.by("erase_payloads")
        return await self.store.erase(application.id, now=self._now(), by=by)

    async def set_policy(self, policy: str | None) -> None:
        """Set this environment's policy, for applications and endpoints that have none."""
        check_policy(policy)
        await self.store.put(Environment(self.environment, policy), by=self.by("set_policy"))

    async def reseal(self) -> int:
        """Seal everything with the newest key; return the number of endpoints. Safe to repeat."""
        await self.reseal_pepper()
        await DataKeys(self.store, self.seals).reseal()
        return await self.reseal_endpoints()

    # --- Looking --------------------------------------------------------------------------------

    async def deliveries(self, message: Message) -> list[tuple[Endpoint, Delivery]]:
        """Return a message's deliveries, each with its endpoint."""
        return await self.store.read(AllDeliveriesOf(message.id))

    async def attempts(self, message: Message) -> list[Attempt]:
        """Return all attempts at a message."""
        return await self.store.read(AllAttemptsOf(message.id))

    async def lane(self, endpoint: Endpoint) -> LaneRow:
        """Return an endpoint's lane: its learned state, and how many deliveries wait."""
        return await self.store.get(Lanes(endpoint.application), endpoint.id)

    async def explain(
        self, message: Message, endpoint: Endpoint, *, tenant: bool = False
    ) -> Explanation:
        """Explain why a message is not delivered to an endpoint yet, or how its delivery ended.

        For a `tenant`, the explanation says nothing about endpoints of other applications.
        """
        deliveries = {
            receiver.id: delivery
            for receiver, delivery in await self.store.read(AllDeliveriesOf(message.id))
        }
        if endpoint.id not in deliveries:
            why = never_meant(message, endpoint)
            raise NotFound("delivery", f"{message.id} to {endpoint.id}", why)
        row = await self.lane(endpoint)
        attempts = [
            attempt
            for attempt in await self.store.read(AllAttemptsOf(message.id))
            if attempt.lane == endpoint.lane
        ]
        return explain(
            deliveries[endpoint.id],
            row,
            attempts,
            now=self._now(),
            origins=await self.store.origins(origins_of(row)),
            attempted_at=await attempted_at(self.store, endpoint),
            tenant=tenant,
        )

    # --- Dispatching ----------------------------------------------------------------------------

    @asynccontextmanager
    async def dispatching(self) -> AsyncIterator[Dispatcher]:
        """Deliver in the background; at the end, wait for requests in flight."""
        sender, settings = self._make_sender(), self.settings
        dispatcher = Dispatcher(
            self.store,
            sender,
            seals=self.seals,
            egress=self.egress,
            policy=settings.policy,
            limits=settings.limits,
            parking=settings.parking,
            kept=settings.kept,
        )
        self.running = running = asyncio.create_task(dispatcher.run())
        ready = asyncio.create_task(dispatcher.ready.wait())
        try:
            await asyncio.wait({running, ready}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
            self.dispatcher = dispatcher
            yield dispatcher
        finally:
            self.dispatcher = None
            ready.cancel()
            dispatcher.stop()
            try:
                await running
            finally:
                await sender.close()

    async def until(self, event: asyncio.Event) -> None:
        """Wait until `event` is set, or until the dispatcher has failed."""
        stopped = asyncio.create_task(event.wait())
        running = set() if self.running is None else {self.running}
        await asyncio.wait({stopped, *running}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()

"""The service inside a program of your own: open a database, add endpoints, send, dispatch.

Everything is asynchronous and belongs to the event loop it was opened on. The HTTP API stands on
the same methods.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from tarry.core.text import from_json
from tarry.errors import BacklogFull, Conflict, NotFound, SettingsError
from tarry.service import build
from tarry.service.dispatch.dispatcher import Dispatcher
from tarry.service.dispatch.outfit import opened_secrets, place
from tarry.service.explain import Explanation, explain
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery
from tarry.service.model.endpoint import Endpoint, Secret, Standing
from tarry.service.model.lane import LaneRow
from tarry.service.model.message import Accepted, Message, NewMessage, fingerprint
from tarry.service.model.task import Task, Work
from tarry.service.store.contract import Store
from tarry.service.wire.secret import check_secret, generate_shared
from tarry.service.wire.sign import check_headers

DEFAULT = "org_default"
"""The environment of programs that need only one."""
GRACE = 86_400.0
"""How long an old secret is signed with after a rotation, in seconds."""
MOST_OLD_SECRETS = 5


class Hooks:
    """A database of webhooks, opened by `open_hooks`."""

    def __init__(
        self,
        settings: build.Settings,
        store: Store,
        *,
        environment: str = DEFAULT,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.settings, self.store, self.environment = settings, store, environment
        self.seals = build.seals_for(settings)
        self.egress = build.egress_for(settings)
        self._now = now
        self.running: asyncio.Task[None] | None = None
        """The dispatcher at work, while there is one: it ends by itself only if it fails."""

    def _id(self, prefix: str) -> str:
        return ids.make(prefix, now=self._now(), entropy=os.urandom(ids.CHANCE))

    # --- Applications ---------------------------------------------------------------------------

    async def application(self, uid: str, *, name: str = "", **changes: Any) -> Application:  # noqa: ANN401  its fields
        """The application with this uid (or id); made if there is none, changed if told so."""
        now = self._now()
        try:
            found = await self.store.application(self.environment, uid)
        except NotFound:
            new = Application(
                id=self._id(ids.APPLICATION),
                environment=self.environment,
                uid=uid,
                name=name or uid,
                created_at=now,
                updated_at=now,
                **changes,
            )
            try:
                await self.store.put_application(new)
            except Conflict:  # somebody else made it just now
                return await self.application(uid, name=name, **changes)
            return new
        if name:
            changes["name"] = name
        if changes:
            found = replace(found, updated_at=now, **changes)
            await self.store.put_application(found)
        return found

    # --- Endpoints ------------------------------------------------------------------------------

    async def add_endpoint(  # noqa: PLR0913  what an endpoint may be told
        self,
        application: Application,
        url: str,
        *,
        secret: str | None = None,
        headers: Mapping[str, str] | None = None,
        event_types: Iterable[str] | None = None,
        channels: Iterable[str] | None = None,
        **values: Any,  # noqa: ANN401  the endpoint's other fields
    ) -> Endpoint:
        """Send an application's messages to a URL; EgressRefused if it must not be called."""
        self.egress.target(url)
        if values.get("policy") is not None:
            from_json(values["policy"])
        now = self._now()
        endpoint = Endpoint(
            id=self._id(ids.ENDPOINT),
            application=application.id,
            url=url,
            event_types=None if event_types is None else tuple(event_types),
            channels=None if channels is None else tuple(channels),
            created_at=now,
            updated_at=now,
            **values,
        )
        sealed = self._sealed(endpoint, check_secret(secret or generate_shared()))
        endpoint = replace(endpoint, secrets=(Secret(sealed),))
        if headers:
            endpoint = self._with_headers(endpoint, headers)
        return await self.store.put_endpoint(endpoint)

    async def change_endpoint(
        self,
        endpoint: Endpoint,
        *,
        headers: Mapping[str, str] | None = None,
        **changes: Any,  # noqa: ANN401  its fields
    ) -> Endpoint:
        """Change an endpoint; what waits for it goes by the new settings.

        Enabling one that was disabled, parked or paused lets what waits go at a pace.
        """
        if "url" in changes:
            self.egress.target(changes["url"])
        if changes.get("policy") is not None:
            from_json(changes["policy"])
        now = self._now()
        changed = replace(endpoint, updated_at=now, **changes)
        if changed.standing is not Standing.PARKED:
            closed = tuple(
                (since, now if until is None else until) for since, until in changed.parked
            )
            changed = replace(changed, parked=closed)
        if headers is not None:
            changed = self._with_headers(changed, headers)
        return await self.store.put_endpoint(changed)

    async def rotate_secret(
        self, endpoint: Endpoint, secret: str | None = None, *, grace: float = GRACE
    ) -> Endpoint:
        """Sign with a new secret, and for a while with the old ones as well."""
        now = self._now()
        alive = [old for old in endpoint.secrets if old.expires_at is None or old.expires_at > now]
        if len(alive) > MOST_OLD_SECRETS:
            wanted = f"at most {MOST_OLD_SECRETS} whose grace period lasts: wait for one to end"
            raise SettingsError("old secrets", len(alive), wanted)
        old = tuple(
            Secret(kept.sealed, now + grace) if kept.expires_at is None else kept
            for kept in alive
            if grace > 0 or kept.expires_at is not None
        )
        sealed = self._sealed(endpoint, check_secret(secret or generate_shared()))
        changed = replace(endpoint, secrets=(Secret(sealed), *old), updated_at=now)
        return await self.store.put_endpoint(changed)

    def secret(self, endpoint: Endpoint) -> str:
        """The secret that an endpoint's receiver verifies with."""
        return opened_secrets(endpoint, self.seals)[0][0]

    async def delete_endpoint(self, endpoint: Endpoint) -> Task:
        """Send nothing more to an endpoint; what waits for it is discarded, piece by piece."""
        return await self.store.delete_endpoint(endpoint.application, endpoint.id, now=self._now())

    async def delete_application(self, application: Application) -> list[Task]:
        """Forget an application; what waits for its endpoints is discarded, piece by piece."""
        return await self.store.delete_application(application.id, now=self._now())

    def _sealed(self, endpoint: Endpoint, secret: str) -> bytes:
        return self.seals.seal(secret.encode("ascii"), place(endpoint, "secret"))

    def _with_headers(self, endpoint: Endpoint, headers: Mapping[str, str]) -> Endpoint:
        checked = check_headers(headers.items())
        sealed = self.seals.seal(msgspec.json.encode(checked), place(endpoint, "headers"))
        return replace(endpoint, headers=sealed if checked else None)

    async def reseal(self) -> int:
        """Seal everything with the newest key; how many endpoints it was. Safe to repeat."""
        after, count = "", 0
        while page := await self.store.sealed(after=after):
            for endpoint in page:
                with suppress(NotFound):  # it was deleted meanwhile
                    # As it is by now: somebody may have changed it since the page was read.
                    now = await self.store.endpoint(endpoint.application, endpoint.id)
                    count += await self._resealed(now)
            after = page[-1].id
        return count

    async def _resealed(self, endpoint: Endpoint) -> bool:
        kept = [secret.sealed for secret in endpoint.secrets]
        kept += [] if endpoint.headers is None else [endpoint.headers]
        if not any(map(self.seals.needs_resealing, kept)):
            return False

        def again(sealed: bytes, column: str) -> bytes:
            where = place(endpoint, column)
            return self.seals.seal(self.seals.open(sealed, where), where)

        secrets = tuple(
            replace(secret, sealed=again(secret.sealed, "secret")) for secret in endpoint.secrets
        )
        headers = None if endpoint.headers is None else again(endpoint.headers, "headers")
        await self.store.put_endpoint(replace(endpoint, secrets=secrets, headers=headers))
        return True

    # --- Messages -------------------------------------------------------------------------------

    def message(  # noqa: PLR0913  what a message may be told
        self,
        application: Application,
        event_type: str,
        payload: object,
        *,
        event_id: str | None = None,
        channels: Iterable[str] = (),
        tags: Iterable[str] = (),
        deliver_at: float | None = None,
    ) -> Message:
        """A message to be sent. Bytes are kept as they are; anything else becomes JSON."""
        body = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
        return Message(
            id=self._id(ids.MESSAGE),
            application=application.id,
            event_type=event_type,
            payload=body,
            event_id=event_id,
            channels=tuple(channels),
            tags=tuple(tags),
            accepted_at=self._now(),
            deliver_at=deliver_at,
        )

    async def send(
        self,
        application: Application,
        event_type: str,
        payload: object,
        *,
        key: str | None = None,
        **values: Any,  # noqa: ANN401  the message's other fields
    ) -> Accepted:
        """Accept a message: when this returns it is on disk, with all its deliveries.

        With a `key` it is accepted once, however often it is sent. Conflict if the key or the event
        id was used for another message; BacklogFull if too many of the application's wait already.
        """
        message = self.message(application, event_type, payload, **values)
        request = f"{event_type}\0".encode() + (message.payload or b"")
        mark = b"" if key is None else fingerprint(application.id, request)
        (answer,) = await self.send_many([NewMessage(message, key, mark)])
        if isinstance(answer, Accepted):
            return answer
        raise answer

    async def send_many(
        self, messages: Iterable[NewMessage]
    ) -> list[Accepted | Conflict | NotFound | BacklogFull]:
        """Accept messages in one commit; what is wrong with one concerns it alone."""
        return await self.store.add(list(messages))

    async def cancel(self, message: Message) -> int:
        """Make no more attempts at a message; how many deliveries it was."""
        return await self.store.cancel(message.application, message.id, now=self._now())

    async def resend(self, endpoint: Endpoint, message: Message) -> None:
        """Make one more attempt now, whatever became of the delivery; that stays as it is."""
        await self.store.resend(endpoint, message.id, resend=self._id("resend_"))

    async def recover(
        self, endpoint: Endpoint, *, since: float, until: float | None = None
    ) -> Task:
        """Deliver again what failed, of the messages accepted in that time; at a pace."""
        return await self._task(endpoint, Work.RECOVER, since, until)

    async def replay_missing(
        self, endpoint: Endpoint, *, since: float, until: float | None = None
    ) -> Task:
        """Deliver what was never sent to an endpoint, of that time; at a pace."""
        return await self._task(endpoint, Work.REPLAY_MISSING, since, until)

    async def _task(
        self, endpoint: Endpoint, work: Work, since: float = 0.0, until: float | None = None
    ) -> Task:
        task = Task(
            id=self._id(ids.TASK),
            work=work,
            application=endpoint.application,
            endpoint=endpoint.id,
            lane=endpoint.lane,
            since=since,
            until=until,
            created_at=self._now(),
        )
        await self.store.add_task(task)
        return task

    # --- Looking --------------------------------------------------------------------------------

    async def deliveries(self, message: Message) -> list[tuple[Endpoint, Delivery]]:
        """Where a message goes, and how far it has come with each."""
        return await self.store.deliveries(message.id)

    async def attempts(self, message: Message) -> list[Attempt]:
        """Every attempt at a message."""
        return await self.store.attempts(message.id)

    async def lane(self, endpoint: Endpoint) -> LaneRow:
        """What is known of an endpoint, and how much waits for it."""
        return await self.store.lane(endpoint.application, endpoint.id)

    async def explain(self, message: Message, endpoint: Endpoint) -> Explanation:
        """Why a message is not delivered to an endpoint yet, or how that ended."""
        found = {one.id: delivery for one, delivery in await self.store.deliveries(message.id)}
        if endpoint.id not in found:
            raise NotFound("delivery", f"{message.id} to {endpoint.id}")
        row = await self.lane(endpoint)
        attempts = [
            attempt
            for attempt in await self.store.attempts(message.id)
            if attempt.lane == endpoint.lane
        ]
        origin = await self.store.origin(row.known.origin) if row.known.origin else b""
        return explain(found[endpoint.id], row, attempts, origin=origin)

    # --- Dispatching ----------------------------------------------------------------------------

    @asynccontextmanager
    async def dispatching(self) -> AsyncIterator[Dispatcher]:
        """Deliver in the background; at the end what is on its way is waited for."""
        sender = build.make_sender(self.settings, self.egress)
        dispatcher = build.make_dispatcher(
            self.settings, self.store, sender, seals=self.seals, egress=self.egress
        )
        self.running = running = asyncio.create_task(dispatcher.run())
        ready = asyncio.create_task(dispatcher.ready.wait())
        try:
            await asyncio.wait({running, ready}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
            yield dispatcher
        finally:
            ready.cancel()
            dispatcher.stop()
            try:
                await running
            finally:
                await sender.close()

    async def until(self, told: asyncio.Event) -> None:
        """Wait until told to stop, or until the dispatcher has failed."""
        stopped = asyncio.create_task(told.wait())
        running = set() if self.running is None else {self.running}
        await asyncio.wait({stopped, *running}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()


@asynccontextmanager
async def open_hooks(
    db: str,
    *,
    environment: str = DEFAULT,
    migrate: bool = True,
    **settings: Any,  # noqa: ANN401  those of build.Settings
) -> AsyncIterator[Hooks]:
    """Open a database of webhooks by its URL, and close it at the end.

    `sqlite:///hooks.db` is a file, made if it is not there; `postgresql://...` a server.
    """
    made = build.Settings(db=db, **settings)
    store = await build.open_store(db, migrate=migrate)
    try:
        hooks = Hooks(made, store, environment=environment)
        if environment not in await store.environments():
            await store.put_environment(environment)
        yield hooks
    finally:
        await store.close()

"""A whole delivery service in virtual time: the real dispatcher, the memory store, scripted
endpoints. Days of outage pass in moments, and everything that was sent is on record.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.service.dispatch.dispatcher import Dispatcher
from tarry.service.model.application import Application
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint, Secret
from tarry.service.store.memory.store import MemoryStore
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import Answer, Request
from tarry.service.wire.seal import Place, Seals, generate_key
from tarry.testing.samples import ENVIRONMENT, NOON, an_application, an_endpoint, new_message

SECRET = b"whsec_" + b"c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
OK = Answer(0.01, status=200)
DOWN = Answer(0.01, failure=Kind.TRANSIENT, detail="connection refused")

Script = Callable[[Request, float], Answer]
"""What an endpoint answers to a request at a time; `took` is how long it takes."""


def status(code: int, **headers: str) -> Answer:
    """An answer with a status, in ten milliseconds."""
    said = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(0.01, status=code, headers=said)


class Sent(Struct, frozen=True):
    """A request that was made."""

    at: float
    host: str
    message: str
    answer: Answer


class ScriptedSender:
    """Answers by a script for each host, after the time that the answer takes."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.scripts: dict[str, Script] = {}
        self.sent: list[Sent] = []
        self.in_air = self.most_in_air = 0

    def send(self, request: Request, done: Callable[[Answer], None]) -> None:
        """Ask the script, and answer later."""
        script = self.scripts.get(request.target.host, lambda _request, _now: OK)
        answer = script(request, self._now())
        message = dict(request.headers)["webhook-id"]
        self.sent.append(Sent(self._now(), request.target.host, message, answer))
        self.in_air += 1
        self.most_in_air = max(self.in_air, self.most_in_air)
        asyncio.get_running_loop().call_later(answer.took, self._land, answer, done)

    def _land(self, answer: Answer, done: Callable[[Answer], None]) -> None:
        self.in_air -= 1
        done(answer)

    async def close(self) -> None:
        """Nothing is kept open."""


class VirtualService:
    """One dispatcher and its store; `start` may be called again after `stop` or `crash`."""

    def __init__(self, *, seed: int = 7, **settings: Any) -> None:  # noqa: ANN401  the dispatcher's
        loop = asyncio.get_running_loop()
        self.now = lambda: NOON + loop.time()
        self.store = MemoryStore(clock=self.now)
        self.sender = ScriptedSender(self.now)
        self.seals = Seals.of(generate_key("test"))
        self._settings = settings
        self._draw = random.Random(seed).random
        self._running: asyncio.Task[None] | None = None
        self.application = an_application()

    async def start(self) -> Dispatcher:
        """Have the dispatcher at work."""
        loop = asyncio.get_running_loop()
        self.dispatcher = Dispatcher(
            self.store,
            self.sender,
            seals=self.seals,
            egress=Egress.of(),
            source=loop.time,
            draw=self._draw,
            **self._settings,
        )
        self._running = asyncio.create_task(self.dispatcher.run())
        await self.dispatcher.ready.wait()
        return self.dispatcher

    async def stop(self) -> None:
        """Let the dispatcher finish."""
        self.dispatcher.stop()
        if self._running is not None:
            await self._running

    async def crash(self) -> None:
        """Lose the dispatcher: what is on its way has no end."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        for flight in list(self.dispatcher.shards.held.values()):
            flight.lanes.clear()

    async def add_application(self, **values: Any) -> Application:  # noqa: ANN401  its fields
        """A tenant."""
        application = an_application(**values)
        await self.store.put_application(application)
        return application

    async def add_endpoint(
        self,
        host: str,
        script: Script | None = None,
        *,
        application: Application | None = None,
        path: str = "/in",
        **values: Any,  # noqa: ANN401  its fields
    ) -> Endpoint:
        """An endpoint at a host, which answers by a script."""
        if script is not None:
            self.sender.scripts[host] = script
        owner = application or self.application
        endpoint = an_endpoint(owner, url=f"https://{host}{path}", **values)
        sealed = self.seals.seal(SECRET, Place(owner.id, endpoint.id, "secret"))
        return await self.store.put_endpoint(
            an_endpoint(
                owner,
                id=endpoint.id,
                url=endpoint.url,
                **{"secrets": (Secret(sealed),), **values},
            )
        )

    async def add(self, count: int = 1, application: Application | None = None) -> list[str]:
        """Accept messages; their ids."""
        owner = application or self.application
        new = [new_message(owner, accepted_at=self.now()) for _ in range(count)]
        await self.store.add(new)
        return [one.message.id for one in new]

    async def until_delivered(self, endpoint: Endpoint, within: float) -> float:
        """Wait until nothing of an endpoint is live any more; how long it took."""
        started_at = self.now()
        while (row := await self.store.lane(endpoint.application, endpoint.id)).waiting:
            if self.now() - started_at > within:
                raise AssertionError(f"{row.waiting} deliveries wait after {within} s")
            await asyncio.sleep(0.05)
        return self.now() - started_at

    async def counts(self, endpoint: Endpoint) -> dict[State, int]:
        """How many of an endpoint's deliveries are in each state."""
        found = await self.store.counts(endpoint.lane)
        return {state: count for state, count in found.items() if count}

    async def delivery(self, message: str) -> Delivery:
        """The only delivery of a message."""
        ((_, delivery),) = await self.store.deliveries(message)
        return delivery


@asynccontextmanager
async def virtual_service(**settings: Any) -> AsyncIterator[VirtualService]:  # noqa: ANN401  its own
    """A service at work with one application, stopped at the end."""
    service = VirtualService(**settings)
    await service.store.put_environment(ENVIRONMENT)
    await service.store.put_application(service.application)
    await service.start()
    yield service
    await service.stop()

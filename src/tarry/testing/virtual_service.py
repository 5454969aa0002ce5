"""A whole delivery service in virtual time: real dispatcher, memory store, scripted endpoints.

Days of outage pass in moments, and every request that was sent is recorded.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Container
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tarry.core.outcome import Kind
from tarry.service.dispatch.dispatcher import Dispatcher
from tarry.service.model.application import Application
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint, Secret
from tarry.service.store.contract import Store
from tarry.service.store.kinds import AllDeliveriesOf, Environment, Lanes
from tarry.service.store.memory.store import MemoryStore
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import Answer, Request
from tarry.service.wire.seal import Place, Seals, generate_key
from tarry.testing.samples import ENVIRONMENT, NOON, an_application, an_endpoint, new_message

SECRET = b"whsec_" + b"c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
OK = Answer(0.01, status=200)
DOWN = Answer(0.01, failure=Kind.TRANSIENT, detail="connection refused", unreachable=True)
RESET = Answer(0.01, failure=Kind.TRANSIENT, detail="closed before the response was complete")

Script = Callable[[Request, float], Answer]
"""How an endpoint answers a request at a time; the answer's `took` is how long it takes."""


def status(code: int, **headers: str) -> Answer:
    """Return an answer with a status, which takes ten milliseconds."""
    header_lines = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(0.01, status=code, headers=header_lines)


def _takes_all(_request: Request, _now: float) -> Answer:
    """Accept every request: the script of a host that has none of its own."""
    return OK


def takes_all_but(messages: Container[str], answer: Answer) -> Script:
    """Return a script that gives this answer to some messages and accepts all others."""

    def script(request: Request, _now: float) -> Answer:
        return answer if dict(request.headers)["webhook-id"] in messages else OK

    return script


class Sent(Struct, frozen=True):
    """A request that was sent."""

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
        """Get an answer from the script, and deliver it later."""
        script = self.scripts.get(request.target.host, _takes_all)
        answer = script(request, self._now())
        message = dict(request.headers)["webhook-id"]
        self.sent.append(Sent(self._now(), request.target.host, message, answer))
        self.in_air += 1
        self.most_in_air = max(self.in_air, self.most_in_air)
        asyncio.get_running_loop().call_later(answer.took, self._arrive, answer, done)

    def _arrive(self, answer: Answer, done: Callable[[Answer], None]) -> None:
        """Count the request as no longer in flight, and pass the answer on."""
        self.in_air -= 1
        done(answer)

    async def close(self) -> None:
        """Do nothing, since nothing is kept open."""


class VirtualService:
    """One dispatcher and its store; `start` may be called again after `stop` or `crash`.

    A service that is `beside` another shares its store and its endpoints. `through` wraps the store
    for the dispatcher.
    """

    def __init__(
        self,
        *,
        seed: int = 7,
        beside: "VirtualService | None" = None,
        through: Callable[[MemoryStore], Store] | None = None,
        **settings: Any,  # noqa: ANN401  the dispatcher's settings
    ) -> None:
        loop = asyncio.get_running_loop()
        self.now: Callable[[], float] = lambda: NOON + loop.time()
        self.step = 0.0
        """How many seconds the wall clock was set forward."""
        self.store: MemoryStore = beside.store if beside else MemoryStore(clock=self.wall)
        self.sender: ScriptedSender = beside.sender if beside else ScriptedSender(self.now)
        self.seals: Seals = beside.seals if beside else Seals.of(generate_key("test"))
        self.dispatcher_store: Store = self.store if through is None else through(self.store)
        self._settings = settings
        self._draw = random.Random(seed).random  # noqa: S311  the same draws in every run
        self._running: asyncio.Task[None] | None = None
        self.application: Application = beside.application if beside else an_application()

    def wall(self) -> float:
        """Return the time of the wall clock, which dates messages and leases."""
        return self.now() + self.step

    async def start(self) -> Dispatcher:
        """Start the dispatcher, and wait until it is ready."""
        loop = asyncio.get_running_loop()
        self.dispatcher = Dispatcher(
            self.dispatcher_store,
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
        """Stop the dispatcher properly."""
        self.dispatcher.stop()
        if self._running is not None:
            await self._running

    async def crash(self) -> None:
        """Kill the dispatcher: attempts in flight have no outcome."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def add_application(self, **values: object) -> Application:
        """Add an application."""
        application = an_application(**values)
        await self.store.put(application)
        return application

    async def add_endpoint(
        self,
        host: str,
        script: Script | None = None,
        *,
        application: Application | None = None,
        path: str = "/in",
        **values: object,
    ) -> Endpoint:
        """Add an endpoint at a host, which answers by a script."""
        if script is not None:
            self.sender.scripts[host] = script
        owner = application or self.application
        endpoint = an_endpoint(owner, url=f"https://{host}{path}", **values)
        sealed = self.seals.seal(SECRET, Place(owner.id, endpoint.id, "secret"))
        return await self.store.put(
            an_endpoint(
                owner,
                id=endpoint.id,
                url=endpoint.url,
                **{"secrets": (Secret(sealed),), **values},
            )
        )

    async def move(self, endpoint: Endpoint, url: str) -> Endpoint:
        """Move an endpoint to another URL."""
        return await self.change(endpoint, url=url)

    async def change(self, endpoint: Endpoint, **values: object) -> Endpoint:
        """Change an endpoint's settings, as its owner would."""
        stored = (await self.store.get(Lanes(endpoint.application), endpoint.id)).endpoint
        return await self.store.put(replace(stored, **values, updated_at=self.now()))

    async def add(
        self,
        count: int = 1,
        application: Application | None = None,
        **values: Any,  # noqa: ANN401  any fields
    ) -> list[str]:
        """Accept messages, and return their ids."""
        owner = application or self.application
        batch = [new_message(owner, accepted_at=self.wall(), **values) for _ in range(count)]
        await self.store.add(batch)
        return [new.message.id for new in batch]

    async def until_delivered(self, endpoint: Endpoint, within: float) -> float:
        """Wait until no delivery of an endpoint is live, and return how long that took."""
        started_at = self.now()
        while waiting := await self.waiting(endpoint):
            if self.now() - started_at > within:
                raise AssertionError(f"{waiting} deliveries wait after {within} s")
            await asyncio.sleep(0.05)
        return self.now() - started_at

    async def waiting(self, endpoint: Endpoint) -> int:
        """Return how many of an endpoint's deliveries have not ended."""
        return (await self.store.get(Lanes(endpoint.application), endpoint.id)).waiting

    async def counts(self, endpoint: Endpoint) -> dict[State, int]:
        """Return how many of an endpoint's deliveries are in each state."""
        counts = await self.store.counts(endpoint.lane)
        return {state: count for state, count in counts.items() if count}

    async def delivery(self, message: str) -> Delivery:
        """Return the only delivery of a message."""
        ((_, delivery),) = await self.store.read(AllDeliveriesOf(message))
        return delivery


@asynccontextmanager
async def virtual_service(**settings: Any) -> AsyncIterator[VirtualService]:  # noqa: ANN401  the settings of VirtualService
    """Run a service with one application, and stop it at the end."""
    service = VirtualService(**settings)
    await service.store.put(Environment(ENVIRONMENT))
    await service.store.put(service.application)
    await service.start()
    yield service
    await service.stop()

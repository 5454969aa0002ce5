"""The actions of applications and people in a history, through the service's own methods.

Each step runs as a task of the API's process. A step that the service or the store refuses has no
effect; the log shows what was committed.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from tarry.errors import TarryError
from tarry.service.hooks import Hooks
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.message import Accepted, Message, NewMessage
from tarry.service.model.replay import ReplayFilter
from tests.simulation.endpoints import Endpoints
from tests.simulation.log import Acknowledged, Log
from tests.simulation.loop import SimulatedLoop
from tests.simulation.steps import (
    AddApplication,
    AddEndpoint,
    AnyStep,
    Cancel,
    Delete,
    Limit,
    Move,
    Probe,
    Replay,
    Resend,
    Send,
    Stand,
)

AGAIN_AFTER = (0.3, 1.0, 3.0)
"""After how many seconds a sender with a key tries again after an error."""


class People:
    """Applications, endpoints and messages by their numbers, and the actions on them."""

    def __init__(
        self,
        hooks: Hooks,
        *,
        clock: Callable[[], float],
        loop: SimulatedLoop,
        log: Log,
        endpoints: Endpoints,
    ) -> None:
        self._hooks, self._clock, self._loop, self._log = hooks, clock, loop, log
        self._receivers = endpoints
        self._applications: dict[int, Application] = {}
        self._endpoints: dict[int, Endpoint] = {}
        self._messages: dict[int, Message] = {}
        self.pending = 0
        """How many steps are not finished."""

    def message(self, number: int) -> str | None:
        """Return the id of a message by its number, if it was sent."""
        sent = self._messages.get(number)
        return None if sent is None else sent.id

    @property
    def endpoints(self) -> list[int]:
        """The numbers of all endpoints that were added."""
        return list(self._endpoints)

    async def do(self, step: AnyStep) -> None:
        """Carry out a step."""
        self.pending += 1
        with suppress(TarryError):  # it was refused, and the caller got the error
            await self._do(step)
        self.pending -= 1

    async def _do(self, step: AnyStep) -> None:
        match step:
            case AddApplication(application=number):
                self._applications[number] = await self._hooks.application(
                    f"application-{number}", rate=step.rate
                )
            case AddEndpoint(application=number) if number in self._applications:
                await self._add_endpoint(self._applications[number], step)
            case Send(application=number) if number in self._applications:
                await self._send(self._applications[number], step)
            case Cancel(message=number) if number in self._messages:
                await self._hooks.cancel(self._messages[number])
            case Stand() | Move() | Limit() | Delete() | Probe() | Resend() | Replay():
                if step.endpoint in self._endpoints:
                    await self._change(self._endpoints[step.endpoint], step)
            case _:
                pass

    async def _add_endpoint(self, application: Application, step: AddEndpoint) -> None:
        self._endpoints[step.endpoint] = await self._hooks.add_endpoint(
            application,
            url(step.origin, step.endpoint),
            fifo=step.fifo,
            rate=step.rate,
            concurrency=step.concurrency,
            policy=step.policy,
            event_types=step.event_types,
        )

    async def _send(self, application: Application, step: Send) -> None:
        for number in range(step.message, step.message + step.count):
            await self._send_one(application, step, number)
            if step.apart:
                await asyncio.sleep(step.apart)

    async def _send_one(self, application: Application, step: Send, number: int) -> None:
        key = f"key-{number}" if step.keyed else None
        for pause in (*AGAIN_AFTER, None) if step.keyed else (None,):
            message = self._new_message(application, step, number)
            try:
                (answer,) = await self._hooks.send_many([NewMessage(message, key)])
            except TarryError:
                if pause is None:
                    return
                await asyncio.sleep(pause)
                continue
            if isinstance(answer, Accepted):
                self._messages[number] = answer.message
                self._log.add(Acknowledged(self._loop.time(), answer.message.id))
            return

    def _new_message(self, application: Application, step: Send, number: int) -> Message:
        due = None if step.deliver_in is None else self._clock() + step.deliver_in
        message = self._hooks.message(application, step.event_type, {"n": number}, deliver_at=due)
        self._messages[number] = message
        self._receivers.know(message.id, number, step.event_type)
        return message

    async def _change(
        self,
        endpoint: Endpoint,
        step: Stand | Move | Limit | Delete | Probe | Resend | Replay,
    ) -> None:
        hooks = self._hooks
        match step:
            case Stand():
                await hooks.change_endpoint(endpoint, standing=Standing(step.standing))
            case Move():
                await hooks.change_endpoint(endpoint, url=url(step.origin, step.endpoint))
            case Limit():
                await hooks.change_endpoint(
                    endpoint, rate=step.rate, concurrency=step.concurrency, policy=step.policy
                )
            case Delete():
                await hooks.delete_endpoint(endpoint)
            case Probe():
                await hooks.probe(endpoint)
            case Resend():
                if step.message in self._messages:
                    await hooks.resend(endpoint, self._messages[step.message])
            case Replay():
                await self._replay(endpoint, step.what)

    async def _replay(self, endpoint: Endpoint, what: str) -> None:
        match what:
            case "recover":
                await self._hooks.recover(endpoint, since=0.0)
            case "missing":
                await self._hooks.replay_missing(endpoint, since=0.0)
            case _:
                await self._hooks.bulk_replay(endpoint, ReplayFilter(), since=0.0)


def url(origin: int, endpoint: int) -> str:
    """Return the URL of an endpoint: it keeps its path when it moves to another origin."""
    return f"https://{host(origin)}/{endpoint}"


def host(origin: int) -> str:
    """Return the host of an origin."""
    return f"o{origin}.example"

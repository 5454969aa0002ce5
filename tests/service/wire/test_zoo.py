"""The sender meets every receiver of the zoo.

Whatever the receiver does, the attempt ends in time and as it may, takes little memory, and the
next exchange of the same sender gets its own answer.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvloop

from tarry.core.outcome import Kind
from tarry.service.wire.client import Client
from tarry.service.wire.dial import Addresses, Resolved
from tarry.service.wire.exchange import Answer, Request, Sender, Target
from tarry.testing import zoo

pytestmark = pytest.mark.slow

TIMEOUT = 0.6
"""Seconds for attempts that only time can end; the others get more, for machines that are busy."""
CUT = 4.0
"""Seconds for attempts whose answer has to have begun by then."""
PATIENCE = 30.0
GRACE = 10.0
"""Seconds by which an attempt may be late if the machine is busy; what hangs takes longer."""
MOST_GROWTH = 2_000_000
QUIET = ("answers-", "hang-", "slow-", "reset-", "close-", "smuggled-", "status-", "redirect-")
"""Those that can all be met at once: they do not flood, and so leave each other time to run."""


class Here:
    """A resolver that knows only this machine."""

    def resolve(
        self, _host: str, _port: int, _owner: str, done: Callable[[Resolved], None]
    ) -> None:
        done(Addresses(("127.0.0.1",)))


def client() -> Sender:
    trusting = ssl.create_default_context(cadata=zoo.authority().pem.decode())
    return Client(Here(), lambda *_: True, context=trusting)


SENDERS: dict[str, Callable[[], Sender]] = {"client": client}
PAIRS = [(sender, name) for sender in SENDERS for name in zoo.BEHAVIOURS]


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run to the end; what goes wrong in a callback is an error too."""
    wrong: list[dict[str, object]] = []
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.get_loop().set_exception_handler(lambda _, context: wrong.append(context))
        runner.run(main)
    assert not wrong


@asynccontextmanager
async def opened(kind: str) -> AsyncIterator[Sender]:
    sender = SENDERS[kind]()
    try:
        yield sender
    finally:
        await sender.close()


async def exchange(sender: Sender, url: str, body: bytes, limit: float = PATIENCE) -> Answer:
    parts = urlsplit(url)
    target = Target(parts.scheme, parts.hostname or "", parts.port or 0, parts.path)
    request = Request(target, (("webhook-id", "msg_1"),), body, limit, limit)
    answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    sender.send(request, answered.set_result)
    return await answered


async def calmly(sender: Sender, receiver: zoo.Receiver, body: bytes) -> None:
    """Have a normal exchange, and get its own answer."""
    answer = await exchange(sender, receiver.calm_url, body)
    if answer.failure is Kind.TRANSIENT:  # it may have crossed the end of a kept connection
        answer = await exchange(sender, receiver.calm_url, body)
    assert (answer.status, answer.body) == (200, body)


def limit_for(behaviour: zoo.Behaviour) -> float:
    if behaviour.cut:
        return CUT
    return TIMEOUT if Kind.TIMEOUT in behaviour.endings else PATIENCE


def check(answer: Answer, behaviour: zoo.Behaviour) -> None:
    assert (answer.failure or answer.status) in behaviour.endings
    assert answer.took < limit_for(behaviour) + GRACE
    if behaviour.cut:
        assert answer.truncated
    if answer.failure:
        assert answer.status is None
        assert answer.detail


class Memory:
    """How much the process has grown at most since it was last looked at."""

    def __init__(self) -> None:
        self._before = self._now("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far

    def growth(self) -> int:
        return self._now("VmHWM") - self._before

    def _now(self, what: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """Let everything be loaded that is loaded only once."""

    async def main() -> None:
        for kind in SENDERS:
            async with opened(kind) as sender:
                await exchange(sender, receiver.url, b"")

    with zoo.receiver("tls") as receiver:
        run(main())


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_every_attempt_ends_in_time_as_it_may_and_disturbs_no_other(kind: str, name: str) -> None:
    async def main() -> None:
        limit = limit_for(receiver.behaviour)
        async with opened(kind) as sender:
            await calmly(sender, receiver, b"before")
            memory, began_at = Memory(), monotonic()
            answer = await exchange(sender, receiver.url, b"x" * 1024, limit)
            assert monotonic() - began_at < limit + GRACE
            assert memory.growth() < MOST_GROWTH
            check(answer, receiver.behaviour)
            await calmly(sender, receiver, b"after")
            await calmly(sender, receiver, b"and once more")

    with zoo.receiver(name) as receiver:
        run(main())
        assert zoo.TRAP not in [asked.path for asked in receiver.requests]


@pytest.mark.parametrize("kind", SENDERS)
def test_all_of_them_at_once_do_not_hold_up_a_calm_exchange(kind: str) -> None:
    names = [name for name in zoo.BEHAVIOURS if name.startswith(QUIET)]
    assert len(names) > 50

    async def meet(sender: Sender, receiver: zoo.Receiver) -> None:
        limit = limit_for(receiver.behaviour)
        check(await exchange(sender, receiver.url, b"{}", limit), receiver.behaviour)

    async def main() -> None:
        async with opened(kind) as sender:
            met = [asyncio.create_task(meet(sender, each)) for each in receivers]
            took = []
            while not all(each.done() for each in met):
                began_at = monotonic()
                await calmly(sender, receivers[0], b"calm")
                took.append(monotonic() - began_at)
            await asyncio.gather(*met)
        # The others take seconds: if they held it up, there would have been time for few of them.
        assert len(took) > 5, took

    with ExitStack() as zoo_open:
        receivers = [zoo_open.enter_context(zoo.receiver(name)) for name in names]
        run(main())

"""Send one message through the real service, and list the files of tarry that it passes through.

A file counts if the body of one of its functions ran, in any thread of this process, from the call
of `Hooks.send` until the store has committed that the message was delivered. So it is the way of a
message from being accepted to being settled: store, dispatcher, HTTP client. The endpoint is new,
so its lane is loaded, its address is resolved and a connection is opened on the way. Imports,
start-up and shutdown do not count, nor does the receiver, which is not a part of tarry.

The dispatcher also has loops that do other work: leases, tasks, statistics, retention. They pause
while a message is followed. If a delivery needed one of them, it would not arrive, and this would
fail. Several messages are sent, each to a new endpoint at an origin of its own, and a file counts
if it is on the way of every one of them.

This file is also a program. It prints the list for the tarry that it can import.
"""

import asyncio
import contextlib
import functools
import inspect
import json
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Concatenate, ParamSpec
from unittest import mock

import tarry
from tarry.service import Hooks, open_hooks
from tarry.service.dispatch import dispatcher, work

SOURCES = Path(tarry.__file__).parent
DELIVERIES = 5
QUIET = 0.3
"""Seconds after which a new endpoint's lane has been loaded and put to rest."""
WITHIN = 20.0
DELIVERING = {"load_once", "read_rows_for_all", "settle_all"}
"""The steps of the loops that a delivery needs: load its lane, read its row, write its outcome."""
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Tracer:
    """Notes the files whose functions run in any thread while it is switched on."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.on = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note the file of a function that starts. Python calls this for every call."""
        if self.on and event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            self.files.add(frame.f_code.co_filename)  # the bodies of modules lack that flag


Step = Callable[[], Awaitable[None]]
Rest = ParamSpec("Rest")
Repeat = Callable[Concatenate[Step, Rest], Awaitable[None]]
"""The function of the dispatcher that repeats a step without end."""


def pausing(repeat: Repeat[Rest], others: asyncio.Lock) -> Repeat[Rest]:
    """Return `repeat` with every step that no delivery needs held up while `others` is locked."""

    def repeat_step(step: Step, /, *rest: Rest.args, **named: Rest.kwargs) -> Awaitable[None]:
        @functools.wraps(step)
        async def wait_and_step() -> None:
            async with others:
                await step()

        needed = step.__name__.strip("_") in DELIVERING
        return repeat(step if needed else wait_and_step, *rest, **named)

    return repeat_step


def files_of_a_delivery(deliveries: int = DELIVERIES) -> list[str]:
    """Return the files that every one of a few deliveries passes through, below tarry's folder."""
    tracer = Tracer()
    before = sys.getprofile()
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    try:
        passed = asyncio.run(_deliver(tracer, deliveries))
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
    return sorted(
        str(Path(name).relative_to(SOURCES))
        for name in set.intersection(*passed)
        if Path(name).is_relative_to(SOURCES)
    )


async def _deliver(tracer: Tracer, deliveries: int) -> list[set[str]]:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/hooks.db"
        others = asyncio.Lock()
        with mock.patch.object(dispatcher, "repeat", pausing(work.repeat, others)):
            async with (
                open_hooks(url, allow_network=("127.0.0.0/8",), disk_reserve=0) as hooks,
                hooks.dispatching(),
            ):
                return [
                    await _deliver_once(hooks, tracer, number, others)
                    for number in range(deliveries)
                ]


async def _deliver_once(
    hooks: Hooks, tracer: Tracer, number: int, others: asyncio.Lock
) -> set[str]:
    """Send a message to a new endpoint and return the files that ran until it was settled."""
    async with receiver() as address:
        application = await hooks.application(f"application-{number}")
        await hooks.add_endpoint(application, address)
        await asyncio.sleep(QUIET)
        settled = asyncio.Event()
        settle = hooks.store.settle

        async def settle_and_stop(*arguments: object) -> list[bool]:
            applied = await settle(*arguments)  # type: ignore[arg-type]  # passed on as they are
            if any(applied):
                tracer.on = False
                settled.set()
            return applied

        hooks.store.settle = settle_and_stop  # type: ignore[assignment,method-assign]  # sees commits
        async with others:  # their steps have ended, and no new one starts
            tracer.files = set()
            tracer.on = True
            try:
                await hooks.send(application, "measured", {"number": number})
                async with asyncio.timeout(WITHIN):
                    await settled.wait()
            finally:
                tracer.on = False
                hooks.store.settle = settle  # type: ignore[method-assign]  # as it was
        return tracer.files


@contextlib.asynccontextmanager
async def receiver() -> AsyncIterator[str]:
    """Answer every request with 200, and provide the URL to send to."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                lengths = [
                    int(line.partition(b":")[2])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                ]
                await reader.readexactly(sum(lengths))
                writer.write(RESPONSE)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()


if __name__ == "__main__":
    json.dump(files_of_a_delivery(), sys.stdout)

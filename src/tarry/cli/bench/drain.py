"""Measure how fast a backlog drains: accepted durably, then signed, posted and recorded.

Every run uses a new database. With PostgreSQL, each worker is a process of its own. With an SQLite
file there is one worker, which runs in this process.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec import Struct

from tarry.cli.bench.job import PAYLOAD
from tarry.cli.bench.sink import Sink
from tarry.cli.service.garbage_collection import seldom_collected
from tarry.errors import ServiceError, SettingsError
from tarry.service import Hooks, open_hooks
from tarry.service.build import without_password
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.listing import Cut
from tarry.service.model.message import NewMessage
from tarry.service.store.kinds import Applications, Environments

BATCH = 1000
POLL_SECONDS = 0.02
QUIET = 60.0
"""After this many seconds without an arrival, the run is considered stuck."""
UNUSED = "a database without applications: a new one, to measure"
LOOPBACK = "127.0.0.0/8"


class Mode(Struct, frozen=True):
    """How a backlog drains: with no worker processes, this process is the worker."""

    workers: int = 0
    seal_payloads: bool = False


HERE = Mode()


class Drained(Struct, frozen=True, kw_only=True):
    """The figures of one run."""

    deliveries: int
    accepted_per_second: float
    delivered_per_second: float
    """Measured at the sink, from the first arrival to the last."""
    recorded_after: float
    """Seconds from the last arrival until the last outcome was saved."""
    lost: int
    duplicated: int
    cpu_microseconds: float | None = None
    """CPU time of this process per delivery; None if other processes did the work."""


async def drain(
    db: str, sink: Sink, *, deliveries: int, applications: int = 1, mode: Mode = HERE
) -> Drained:
    """Drain a backlog and return the figures."""
    sink.reset()
    async with open_unused(db, seal_payloads=mode.seal_payloads) as hooks:
        endpoints = await _endpoints(hooks, sink.url, applications)
        accepted = await _accept(hooks, [app for app, _ in endpoints], deliveries)
        before = time.process_time()
        dispatching = _processes(db, mode) if mode.workers else hooks.dispatching()
        async with dispatching:
            with seldom_collected():  # as in `tarry worker`
                await _arrive(sink, deliveries)
            cpu = (time.process_time() - before) / deliveries * 1e6
            await _recorded(hooks, [endpoint for _, endpoint in endpoints])
            recorded_at = time.monotonic()
            report = await asyncio.to_thread(sink.report)
    return Drained(
        deliveries=deliveries,
        accepted_per_second=accepted,
        delivered_per_second=report.rate,
        recorded_after=max(0.0, recorded_at - report.last_at),
        lost=deliveries - report.distinct,
        duplicated=report.duplicates,
        cpu_microseconds=None if mode.workers else cpu,
    )


@asynccontextmanager
async def open_unused(db: str, *, seal_payloads: bool = False) -> AsyncIterator[Hooks]:
    """Open a database for a benchmark, and refuse one that holds any other applications."""
    async with AsyncExitStack() as opened:
        try:
            opening = open_hooks(db, allow_network=(LOOPBACK,), seal_payloads=seal_payloads)
            hooks = await opened.enter_async_context(opening)
        except SettingsError as error:
            if error.field != "sealing keys":
                raise
            raise SettingsError("db", without_password(db), UNUSED) from error
        await _refuse_used(hooks)
        yield hooks


async def _refuse_used(hooks: Hooks) -> None:
    """Raise SettingsError if the database has applications that no benchmark created."""
    for environment in await hooks.store.read(Environments()):
        page = await hooks.store.page(Applications(environment.id), Cut(limit=250))
        for application in page.entries:
            if not (application.uid or "").startswith("bench"):
                raise SettingsError("db", application.name, UNUSED)


async def _endpoints(
    hooks: Hooks, url: str, applications: int
) -> list[tuple[Application, Endpoint]]:
    """Create applications with one endpoint each."""
    names = [f"bench-{os.getpid()}-{time.time_ns()}-{number}" for number in range(applications)]
    apps = [await hooks.application(name) for name in names]
    return [(app, await hooks.add_endpoint(app, url)) for app in apps]


async def _accept(hooks: Hooks, apps: Sequence[Application], deliveries: int) -> float:
    """Accept messages in batches, and return how many were accepted per second."""
    body = PAYLOAD.encode()
    started = time.perf_counter()
    for start in range(0, deliveries, BATCH):
        numbers = range(start, min(start + BATCH, deliveries))
        batch = [
            NewMessage(hooks.message(apps[number % len(apps)], "order.created", body))
            for number in numbers
        ]
        await hooks.send_many(batch)
    return deliveries / (time.perf_counter() - started)


async def _arrive(sink: Sink, deliveries: int) -> None:
    """Wait until all deliveries have arrived; raise ServiceError if they stop coming."""
    arrived, arrived_at = 0, time.monotonic()
    while arrived < deliveries:
        await asyncio.sleep(POLL_SECONDS)
        now = sink.arrivals()
        if now != arrived:
            arrived, arrived_at = now, time.monotonic()
        elif time.monotonic() - arrived_at > QUIET:
            raise ServiceError(
                f"only {arrived} of {deliveries} arrived, and no more for {QUIET:g} s"
            )


async def _recorded(hooks: Hooks, endpoints: Sequence[Endpoint]) -> None:
    """Wait until the outcomes of all deliveries are saved."""
    for endpoint in endpoints:
        while (await hooks.lane(endpoint)).waiting:  # noqa: ASYNC110  other processes may be the workers
            await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def _processes(db: str, mode: Mode) -> AsyncIterator[None]:
    """Run workers in processes of their own, and stop them at the end."""
    command = ["-m", "tarry.cli", "worker", "--allow-network", LOOPBACK]
    command += ["--seal-payloads"] * mode.seal_payloads
    surroundings = {**os.environ, "TARRY_DB": db}  # an argument would show in the list of processes
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, *command, env=surroundings, stderr=asyncio.subprocess.DEVNULL
        )
        for _ in range(mode.workers)
    ]
    try:
        yield
    finally:
        for process in started:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
        await asyncio.gather(*(process.wait() for process in started))

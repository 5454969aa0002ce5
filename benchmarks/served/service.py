"""Start a server, and ask it what an owner of webhooks would ask."""

import asyncio
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from tarry.service.wire.seal import generate_key
from tarry.testing.postgres import throw_away_cluster

LOOPBACK = "127.0.0.0/8"
PATIENCE = 60.0
"""Seconds after which a server that is not ready, or a message without an attempt, is given up."""
KEY = "k" * 40


def free_port() -> int:
    """Return a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def started(*arguments: str, log: Path, **variables: str) -> Iterator[None]:
    """Run a program of this environment until the end of the block."""
    with (
        log.open("wb") as out,
        subprocess.Popen(  # noqa: S603  this very interpreter
            [sys.executable, *arguments],
            stdout=out,
            stderr=out,
            env={**os.environ, **variables},
        ) as process,
    ):
        try:
            yield
        finally:
            process.terminate()


class Service:
    """A running server, as its API shows it."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def until_ready(self) -> None:
        """Return once it is ready; raise an error if that takes too long."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                async with self._session.get("/readyz") as answer:
                    if answer.ok:
                        return
            except aiohttp.ClientConnectionError:
                pass
            await asyncio.sleep(0.1)
        message = f"the server was not ready after {PATIENCE:.0f} s"
        raise TimeoutError(message)

    async def post(self, path: str, **body: object) -> str:
        """Create something and return its id."""
        async with self._session.post(f"/api/v1{path}", json=body) as answer:
            answer.raise_for_status()
            return str((await answer.json())["id"])

    async def send(self, application: str, number: int) -> str:
        """Hand in a message and return its id."""
        body = {"eventType": "order.paid", "payload": {"number": number}}
        return await self.post(f"/app/{application}/msg", **body)

    async def replay(self, application: str, endpoint: str, since: str) -> None:
        """Have an endpoint sent what it never got."""
        await self.post(f"/app/{application}/endpoint/{endpoint}/replay-missing", since=since)

    async def messages(self, application: str) -> list[str]:
        """Return the ids of all messages of an application."""
        return [message["id"] async for message in self._list(f"/app/{application}/msg")]

    async def first_attempts(self, application: str, endpoint: str) -> dict[str, float]:
        """Return when each message was first attempted at an endpoint."""
        first: dict[str, float] = {}
        async for attempt in self._list(f"/app/{application}/attempt/endpoint/{endpoint}"):
            at = datetime.fromisoformat(attempt["timestamp"]).timestamp()
            first[attempt["msgId"]] = min(at, first.get(attempt["msgId"], at))
        return first

    async def _list(self, path: str) -> AsyncIterator[dict[str, str]]:
        params = {"limit": "250"}
        while True:
            async with self._session.get(f"/api/v1{path}", params=params) as answer:
                answer.raise_for_status()
                page = await answer.json()
            for item in page["data"]:
                yield item
            if page["done"]:
                return
            params["iterator"] = page["iterator"]

    async def stalled(self) -> int:
        """Return how many lanes the watchdog has found stalled."""
        async with self._session.get("/metrics") as answer:
            text = await answer.text()
        match = re.search(r"^tarry_lanes_stalled_total (\d+)", text, re.MULTILINE)
        if match is None:
            message = "/metrics has no tarry_lanes_stalled_total"
            raise LookupError(message)
        return int(match[1])


@contextmanager
def database(kind: str) -> Iterator[tuple[str, Path]]:
    """Make an empty database, "sqlite" or "postgres"; give its URL and a folder for other files."""
    with TemporaryDirectory(prefix="tarry-bench-") as name:
        folder = Path(name)
        if kind == "sqlite":
            yield f"sqlite:///{folder / 'hooks.db'}", folder
        else:
            with throw_away_cluster() as cluster:
                yield cluster.url, folder


@asynccontextmanager
async def serving(db: str, folder: Path) -> AsyncIterator[Service]:
    """Run `tarry serve` on a database until the end of the block."""
    place = f"127.0.0.1:{free_port()}"
    serve = ("-m", "tarry.cli", "serve", "--db", db, "--listen", place, "--allow-network", LOOPBACK)
    secrets = {"TARRY_API_KEY": KEY, "TARRY_SEALING_KEYS": generate_key("bench")}
    headers = {"authorization": f"Bearer {KEY}"}
    with started(*serve, log=folder / "serve", **secrets):
        async with aiohttp.ClientSession(f"http://{place}", headers=headers) as session:
            service = Service(session)
            await service.until_ready()
            yield service

"""A real `tarry serve`, a real receiver, and the official SDK in both its forms."""

import asyncio
import inspect
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from standardwebhooks.webhooks import Webhook as Standard
from svix.api import Svix, SvixAsync, SvixOptions
from svix.models import ApplicationIn, EventTypeIn
from svix.webhooks import Webhook

from tarry.service.wire.seal import generate_key
from tarry.testing.receiver import Arrival, Receiver

KEY = "sdk-tests"
READY = re.compile(r"^ready: (?P<url>[^,]+),", re.MULTILINE)
PATIENCE = 120.0


class Sdk:
    """The SDK as a program has it: the asynchronous one is waited for."""

    def __init__(self, kind: str, key: str, url: str) -> None:
        self.kind, self.url = kind, url
        self._runner = asyncio.Runner()
        made = Svix if kind == "sync" else SvixAsync
        self._client: Any = made(key, SvixOptions(server_url=url, retry_schedule=[]))

    def __getattr__(self, group: str) -> "Calls":
        return Calls(self._runner, getattr(self._client, group))

    def close(self) -> None:
        http = self._client._httpx_client  # noqa: SLF001  the SDK itself does not close it
        if self.kind == "async":
            self._runner.run(http.aclose())
        else:
            http.close()
        self._runner.close()


class Calls:
    """A group of the SDK's methods; those that are asynchronous are run to their end."""

    def __init__(self, runner: asyncio.Runner, group: Any) -> None:  # noqa: ANN401  the SDK's
        self._runner, self._group = runner, group

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the SDK has
        found = getattr(self._group, name)
        if not inspect.ismethod(found):
            return Calls(self._runner, found)

        def call(*args: object, **named: object) -> Any:  # noqa: ANN401  its result
            result = found(*args, **named)
            return self._runner.run(_awaited(result)) if inspect.isawaitable(result) else result

        return call


async def _awaited(result: Any) -> Any:  # noqa: ANN401  a result to come
    return await result


@contextmanager
def serving(db: str, folder: Path, **env: str) -> Iterator[str]:
    """`tarry serve` on a database, ready; told to stop at the end, and to have seen no error."""
    options = ("--listen", "127.0.0.1:0", "--api-key", KEY, "--allow-network", "127.0.0.0/8")
    command = [sys.executable, "-m", "tarry.cli", "serve", "--db", db, *options]
    said = folder / "said.txt"  # a pipe that nobody reads would stop it once it is full
    with (
        said.open("w") as out,
        subprocess.Popen(command, stderr=out, env={**os.environ, **env}) as process,
    ):
        try:
            until(lambda: READY.search(said.read_text()) or process.poll() is not None)
            ready = READY.search(said.read_text())
            assert ready, said.read_text()
            yield ready["url"]
        finally:
            process.terminate()
            process.wait(timeout=60)
    assert " ERROR " not in said.read_text(), said.read_text()


@pytest.fixture(scope="session")
def sqlite_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("sdk")
    with serving(f"sqlite:////{str(folder / 'hooks.db').lstrip('/')}", folder) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_server(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("sdk")
    name = f"tarry_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(SQL("CREATE DATABASE {} TEMPLATE template0").format(Identifier(name)))
        db = urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
        with serving(db, folder, TARRY_SEALING_KEYS=generate_key("sdk")) as url:
            yield url
        server.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture(
    scope="session", params=["sync", "async", pytest.param("postgresql", marks=pytest.mark.slow)]
)
def setting(request: pytest.FixtureRequest) -> str:
    """Which form of the SDK on SQLite, or the first of them on PostgreSQL."""
    return str(request.param)


@pytest.fixture(scope="session")
def server(setting: str, request: pytest.FixtureRequest) -> str:
    which = "postgres_server" if setting == "postgresql" else "sqlite_server"
    return str(request.getfixturevalue(which))


@pytest.fixture(scope="session")
def sdk(setting: str, server: str) -> Iterator[Sdk]:
    made = Sdk("async" if setting == "async" else "sync", KEY, server)
    yield made
    made.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver(bodies=True) as receiver:
        yield receiver


@pytest.fixture
def uid() -> str:
    """A name that no other test uses."""
    return f"uid-{uuid4().hex[:12]}"


@pytest.fixture
def app(sdk: Sdk) -> str:
    """The id of a new application."""
    return str(sdk.application.create(ApplicationIn(name="Acme")).id)


@pytest.fixture
def kind(sdk: Sdk) -> str:
    """The name of a new type of events."""
    name = f"made.{uuid4().hex[:12]}"
    sdk.event_type.create(EventTypeIn(name=name, description="Something was made"))
    return name


def verify(arrival: Arrival, secret: str) -> None:
    """Have a delivery verified by both libraries for receivers, each by its own headers."""
    parts = ("id", "timestamp", "signature")
    Webhook(secret).verify(arrival.body, {f"svix-{p}": arrival.header(f"svix-{p}") for p in parts})
    headers = {f"webhook-{p}": arrival.header(f"webhook-{p}") for p in parts}
    Standard(secret).verify(arrival.body, headers)


def until(holds: Callable[[], object]) -> None:
    """Wait for something to hold that another process brings about."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)

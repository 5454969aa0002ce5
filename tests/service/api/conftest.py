"""A real server on a real database, and a client for it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tarry.service import Hooks, open_hooks
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.model.endpoint import Standing
from tarry.testing.receiver import Arrival, Receiver
from tests.migrated_file import make_migrated_file
from tests.plain_http import PLAIN

KEY = "let-me-in"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hooks.db"


@pytest.fixture
async def hooks(path: Path) -> AsyncIterator[Hooks]:
    """A database with an application whose endpoint waits."""
    make_migrated_file(path)
    async with open_hooks(f"sqlite:////{str(path).lstrip('/')}") as hooks:
        shop = await hooks.application("shop")
        await hooks.add_endpoint(shop, "https://example.com/in", standing=Standing.PAUSED)
        yield hooks


@pytest.fixture
async def url(hooks: Hooks) -> AsyncIterator[str]:
    async with serving(await make_api(hooks, KEY), "127.0.0.1:0") as url:
        yield url


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    async with httpx.AsyncClient(base_url=url, headers=headers, **PLAIN) as client:
        yield client


class Live:
    """A server with its dispatcher at work, and a receiver that keeps what it got."""

    def __init__(self, hooks: Hooks, client: httpx.AsyncClient, receiver: Receiver) -> None:
        self.hooks, self.client, self.receiver = hooks, client, receiver

    async def arrived(self, count: int) -> list[Arrival]:
        """What arrived, once it is so much."""
        async with asyncio.timeout(60):
            while len(self.receiver.arrivals) < count:  # noqa: ASYNC110  it is in another thread
                await asyncio.sleep(0.01)
        return self.receiver.arrivals


@pytest.fixture
async def live(path: Path) -> AsyncIterator[Live]:
    """All of it, for an application `shop` without endpoints."""
    db = f"sqlite:////{str(make_migrated_file(path)).lstrip('/')}"
    with Receiver(bodies=True) as receiver:
        async with (
            open_hooks(db, allow_network=("127.0.0.0/8",)) as hooks,
            serving(await make_api(hooks, KEY), "127.0.0.1:0") as url,
            hooks.dispatching(),
        ):
            await hooks.application("shop")
            headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
            async with httpx.AsyncClient(base_url=url, headers=headers, **PLAIN) as client:
                yield Live(hooks, client, receiver)

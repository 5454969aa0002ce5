"""A real server on a real database, and a client for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.hooks import Hooks, open_hooks
from tarry.service.model.endpoint import Standing

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
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=20) as client:
        yield client

"""Webhooks on a file of their own, with an application in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tarry.service.hooks import Hooks, open_hooks
from tarry.service.model.application import Application


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'hooks.db'}"


@pytest.fixture
async def hooks(db: str) -> AsyncIterator[Hooks]:
    """Endpoints of this machine may be called."""
    async with open_hooks(db, allow_network=("127.0.0.0/8",)) as hooks:
        yield hooks


@pytest.fixture
async def shop(hooks: Hooks) -> Application:
    return await hooks.application("shop", name="A shop")

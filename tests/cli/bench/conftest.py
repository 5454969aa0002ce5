"""What tests of the benchmarks share."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tarry.cli.bench import deliver
from tarry.cli.bench.sink import Sink
from tarry.cli.commands import tarry
from tarry.service import open_hooks


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def sealing_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the commands would set for the rest of the run."""
    monkeypatch.setenv("TARRY_SEALING_KEYS", deliver.KEYS)
    monkeypatch.delenv("TARRY_DB", raising=False)


@pytest.fixture
def a_sink() -> Iterator[Sink]:
    with Sink() as sink:
        yield sink


@pytest.fixture
def bench() -> Callable[..., Result]:
    """`tarry bench`, to be called with what is typed."""
    return lambda *typed: CliRunner().invoke(tarry, ["bench", *typed])


@pytest.fixture
def used(tmp_path: Path) -> str:
    """A database with somebody's webhooks in it."""

    async def use(db: str) -> None:
        async with open_hooks(db) as hooks:
            await hooks.application("shop")

    db = f"sqlite:////{str(tmp_path / 'used.db').lstrip('/')}"
    asyncio.run(use(db))
    return db

"""The store in an SQLite file keeps the contract."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tarry.service.store.sqlite.store import SqliteStore, open_sqlite
from tarry.testing.store_contract import Later, StoreContract
from tests.migrated_file import make_migrated_file


class Hand:
    """A clock that moves only when a test pushes it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def hand(self) -> Hand:
        return Hand()

    @pytest.fixture
    async def store(self, tmp_path: Path, hand: Hand) -> AsyncIterator[SqliteStore]:
        store = await open_sqlite(make_migrated_file(tmp_path / "tarry.db"), clock=hand)
        yield store
        await store.close()

    @pytest.fixture
    async def other(self, store: SqliteStore, tmp_path: Path) -> AsyncIterator[SqliteStore]:
        await store.check()  # it made the file
        other = await open_sqlite(tmp_path / "tarry.db", migrate=False)
        yield other
        await other.close()

    @pytest.fixture
    async def later(self, hand: Hand) -> Later:
        async def push(seconds: float) -> None:
            hand.now += seconds

        return push

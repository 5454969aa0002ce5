"""Maintenance that the memory store refuses or does not need."""

import asyncio
from pathlib import Path

import pytest

from tarry.errors import StoreError
from tarry.service.store.memory import MemoryStore


def test_there_is_nothing_to_make_a_backup_of(tmp_path: Path) -> None:
    target = tmp_path / "copy"
    with pytest.raises(StoreError, match="memory store keeps nothing"):
        asyncio.run(MemoryStore().backup(target))
    assert not target.exists()


def test_it_can_be_closed_at_any_time() -> None:
    async def main() -> None:
        store = MemoryStore()
        await store.check()
        await store.close()
        await store.close()

    asyncio.run(main())

"""The clock that the memory store's leases use."""

import asyncio
import time

from tarry.service.store.memory import MemoryStore


def test_leases_go_by_the_clock_that_is_handed_in() -> None:
    async def main() -> None:
        store = MemoryStore(lambda: 1234.5)
        assert (await store.server()).now == 1234.5

    asyncio.run(main())


def test_without_one_they_go_by_the_machine_s() -> None:
    async def main() -> None:
        assert abs((await MemoryStore().server()).now - time.time()) < 60

    asyncio.run(main())

"""Lists of messages and endpoints that do not exist."""

import asyncio

from tarry.service.store.kinds import AllAttemptsOf, AllDeliveriesOf
from tarry.service.store.memory import MemoryStore


def test_nothing_is_listed_of_what_is_not_there() -> None:
    async def main() -> list[object]:
        store = MemoryStore()
        return [
            await store.read(AllDeliveriesOf("msg_none")),
            await store.read(AllAttemptsOf("msg_none")),
            await store.counts(77),
        ]

    assert asyncio.run(main()) == [[], [], {}]

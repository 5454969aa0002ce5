"""A machine whose real store is a memory store as well, perhaps one that was spoilt."""

import asyncio
from collections.abc import Callable

import pytest

from tarry.service.store.memory import MemoryStore
from tarry.testing.store_machine import Opened, StoreMachine


@pytest.fixture
def machine() -> Callable[[type[MemoryStore]], type[StoreMachine]]:
    """Return a function that makes the machine for a class of stores."""
    return _machine


def _machine(make: type[MemoryStore]) -> type[StoreMachine]:
    class Machine(StoreMachine):
        def open(self) -> Opened:
            self.time = 0.0
            self.runner = asyncio.Runner()
            return Opened(make(lambda: self.time), self.runner.run, self.later)

        async def later(self, seconds: float) -> None:
            self.time += seconds

        def teardown(self) -> None:
            try:
                super().teardown()
            finally:
                self.runner.close()

    return Machine

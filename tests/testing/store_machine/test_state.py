"""The machine finds what is wrong with a store, and nothing wrong with a good one."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.lane import Change, Lease
from tarry.service.model.message import NewMessage
from tarry.service.store.contract import Store
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_machine import Opened, StoreMachine

QUICK = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_a_store_that_is_like_the_model_passes() -> None:
    run_state_machine_as_test(lambda: _Machine(MemoryStore), settings=QUICK)


class _Machine(StoreMachine):
    def __init__(self, make):
        self._make = make
        super().__init__()

    def open(self) -> Opened:
        self._time = 0.0
        self._runner = asyncio.Runner()
        store = self._make(lambda: self._time)

        async def later(seconds: float) -> None:
            self._time += seconds

        return Opened(store, self._runner.run, later)

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self._runner.close()

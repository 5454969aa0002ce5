"""The memory store keeps the contract."""

import pytest

from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract import Later, StoreContract


class Hand:
    """A clock that moves only when a test pushes it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def hand(self) -> Hand:
        return Hand()

    @pytest.fixture
    async def store(self, hand: Hand) -> MemoryStore:
        return MemoryStore(hand)

    @pytest.fixture
    async def later(self, hand: Hand) -> Later:
        async def push(seconds: float) -> None:
            hand.now += seconds

        return push

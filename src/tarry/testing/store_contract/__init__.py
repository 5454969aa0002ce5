"""What every store must do, as tests: bind them to a store, and it is held to the contract.

    class TestMyStore(StoreContract):
        @pytest.fixture
        async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
            async with open_my_store(tmp_path) as store:
                yield store

        @pytest.fixture
        async def later(self, store: MyStore) -> Later:
            return store.let_leases_run_out

The tests are coroutines, which anyio's pytest plugin runs.
"""

import pytest

TOPICS = ("add",)
pytest.register_assert_rewrite(*(f"{__name__}.{topic}" for topic in (*TOPICS, "scene")))

# ruff: noqa: E402  pytest must know of the modules before they are imported
from tarry.testing.store_contract.add import AddContract
from tarry.testing.store_contract.topic import Later

__all__ = ["Later", "StoreContract"]


class StoreContract(AddContract):
    """All topics; each can be bound by itself as well."""

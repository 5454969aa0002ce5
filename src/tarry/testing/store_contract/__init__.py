"""The contract of a store as tests: bind them to a store to check it.

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

TOPICS = (
    "add",
    "keys",
    "fanout",
    "lease",
    "fetch",
    "settle",
    "rest",
    "expire",
    "tasks",
    "pending",
    "bulk",
    "catalogue",
    "endpoints",
    "listing",
    "deliveries",
    "attempts",
    "looks",
    "counting",
    "paging",
    "resend",
    "sweep",
    "registry",
    "data_keys",
    "notices",
    "audit",
    "claims",
    "concurrent",
)
pytest.register_assert_rewrite(*(f"{__name__}.{topic}" for topic in (*TOPICS, "scene", "pages")))

# ruff: noqa: E402  pytest must know the modules before they are imported
from tarry.testing.store_contract.add import AddContract
from tarry.testing.store_contract.attempts import AttemptsContract
from tarry.testing.store_contract.audit import AuditContract
from tarry.testing.store_contract.bulk import BulkContract
from tarry.testing.store_contract.catalogue import CatalogueContract
from tarry.testing.store_contract.claims import ClaimsContract
from tarry.testing.store_contract.concurrent import ConcurrentContract
from tarry.testing.store_contract.counting import CountingContract
from tarry.testing.store_contract.data_keys import DataKeysContract
from tarry.testing.store_contract.deliveries import DeliveriesContract
from tarry.testing.store_contract.endpoints import EndpointsContract
from tarry.testing.store_contract.expire import ExpireContract
from tarry.testing.store_contract.fanout import FanoutContract
from tarry.testing.store_contract.fetch import FetchContract
from tarry.testing.store_contract.keys import KeysContract
from tarry.testing.store_contract.lease import LeaseContract
from tarry.testing.store_contract.listing import ListingContract
from tarry.testing.store_contract.looks import LooksContract
from tarry.testing.store_contract.notices import NoticesContract
from tarry.testing.store_contract.paging import PagingContract
from tarry.testing.store_contract.pending import PendingContract
from tarry.testing.store_contract.registry import RegistryContract
from tarry.testing.store_contract.resend import ResendContract
from tarry.testing.store_contract.rest import RestContract
from tarry.testing.store_contract.settle import SettleContract
from tarry.testing.store_contract.sweep import SweepContract
from tarry.testing.store_contract.tasks import TasksContract
from tarry.testing.store_contract.topic import Later

__all__ = ["Later", "StoreContract"]


class StoreContract(
    AddContract,
    KeysContract,
    FanoutContract,
    LeaseContract,
    FetchContract,
    SettleContract,
    RestContract,
    ExpireContract,
    TasksContract,
    PendingContract,
    BulkContract,
    CatalogueContract,
    EndpointsContract,
    ListingContract,
    DeliveriesContract,
    AttemptsContract,
    LooksContract,
    CountingContract,
    PagingContract,
    ResendContract,
    SweepContract,
    RegistryContract,
    DataKeysContract,
    NoticesContract,
    AuditContract,
    ClaimsContract,
    ConcurrentContract,
):
    """All topics. Each can also be bound by itself."""

"""Every kind reaches its own method in every store."""

import inspect
from typing import get_args

import pytest

from tarry.service.store import kinds
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.contract import Actions, Records
from tarry.service.store.memory import MemoryStore
from tarry.service.store.postgres.store import PostgresStore
from tarry.service.store.sqlite.store import SqliteStore

GENERIC = [name for name, _ in inspect.getmembers(Records, inspect.isfunction) if name[0] != "_"]


@pytest.mark.parametrize("store", [MemoryStore, SqliteStore, PostgresStore])
def test_a_store_has_a_method_for_each_kind(store: type[RecordsByKind]) -> None:
    assert not inspect.isabstract(store)


@pytest.mark.parametrize("name", [*GENERIC, "expunge"])
def test_the_generic_methods_are_called_as_the_contract_says(name: str) -> None:
    contract = getattr(Records, name, None) or getattr(Actions, name)
    signature = inspect.signature(getattr(RecordsByKind, name))
    assert list(signature.parameters) == list(inspect.signature(contract).parameters)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_is_no_kind_is_refused() -> None:
    with pytest.raises(AssertionError):
        await MemoryStore().get("no kind", "x")  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(
    ("union", "base"),
    [
        (kinds.GettableKind, kinds.Gettable),
        (kinds.PagedKind, kinds.Paged),
        (kinds.ChangeableKind, kinds.Changeable),
        (kinds.AnyQuery, kinds.Query),
    ],
)
def test_a_method_knows_all_kinds_that_it_accepts(union: object, base: type) -> None:
    assert set(get_args(union)) == set(base.__subclasses__())

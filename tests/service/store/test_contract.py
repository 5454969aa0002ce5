"""Every store has the contract's methods, called as the contract says."""

import inspect
import re

import pytest
from msgspec.structs import astuple

from tarry.service.store.contract import Retention, Store
from tarry.service.store.memory import MemoryStore
from tarry.service.store.postgres.store import PostgresStore
from tarry.service.store.sqlite.store import SqliteStore
from tests.project_files import ROOT

METHODS = {
    name: method
    for name, method in inspect.getmembers(Store, inspect.isfunction)
    if not name.startswith("_")
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("store", [MemoryStore, SqliteStore, PostgresStore])
def test_a_store_can_be_called_as_the_contract_says(store: type, name: str) -> None:
    method = getattr(store, name)
    assert inspect.iscoroutinefunction(method) == inspect.iscoroutinefunction(METHODS[name])
    assert _parameters(method) == _parameters(METHODS[name])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_does(name: str) -> None:
    assert METHODS[name].__doc__


def test_a_store_of_ones_own_stays_thinkable() -> None:
    assert len(METHODS) <= 45


def test_people_who_write_a_store_are_shown_all_methods() -> None:
    page = (ROOT / "docs/howto/write-your-own-store.md").read_text()
    table = [line for line in page.splitlines() if line.startswith("| `")]
    shown = [name for line in table for name in re.findall("`([a-z_]+)`", line)]
    assert sorted(shown) == sorted(METHODS)
    assert f"these {len(METHODS)} methods" in page


def test_nothing_is_forgotten_unless_asked_for() -> None:
    assert set(astuple(Retention())) == {None}


def _parameters(method: object) -> list[tuple[str, object, object]]:
    """Return the name, kind and default of each parameter of a method."""
    assert callable(method)
    return [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in inspect.signature(method).parameters.values()
    ]

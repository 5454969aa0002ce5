"""The history of messages is a part of every store."""

from inspect import getmembers, isfunction

import pytest

from tarry.service.store.contract import Store
from tarry.service.store.history import History

METHODS = [name for name, _ in getmembers(History, isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("name", METHODS)
def test_a_store_is_asked_for_all_of_it(name: str) -> None:
    assert getattr(Store, name) is getattr(History, name)

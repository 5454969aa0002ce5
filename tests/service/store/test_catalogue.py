"""The catalogue is a part of every store."""

from inspect import getmembers, isfunction

import pytest

from tarry.service.store.catalogue import Catalogue
from tarry.service.store.contract import Store

METHODS = [name for name, _ in getmembers(Catalogue, isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("name", METHODS)
def test_a_store_is_asked_for_all_of_it(name: str) -> None:
    assert getattr(Store, name) is getattr(Catalogue, name)

"""What lists have in common."""

import inspect

import pytest

from tarry.service.model.listing import Cut
from tarry.service.store.contract import Store
from tarry.service.store.listing import Listing

LISTS = [name for name, _ in inspect.getmembers(Listing, inspect.isfunction) if name[:5] == "list_"]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_asked_for_by_whose_it_is_and_where_to_cut_it(name: str) -> None:
    _, whose, cut, *wanted = inspect.signature(getattr(Listing, name)).parameters.values()
    assert whose.default is cut.default is inspect.Parameter.empty
    assert cut.annotation is Cut
    assert all(one.kind is one.KEYWORD_ONLY or one.name == "wanted" for one in wanted)


def test_every_store_has_lists() -> None:
    assert len(LISTS) == 7
    assert set(LISTS) <= set(dir(Store))

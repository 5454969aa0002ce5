"""The topic `paging` notices stores that break its rules."""

from collections.abc import Callable, Sequence

import pytest

from tarry.service.model.application import Application
from tarry.service.store.memory import catalogue
from tarry.testing.store_contract.paging import PagingContract

Try = Callable[..., None]


def test_a_store_that_gives_the_first_page_again_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first(found: Sequence[Application], after: str, limit: int) -> list[Application]:
        shown = [one for one in found if one.id >= after]
        return sorted(shown, key=lambda one: one.id)[:limit]

    try_on(PagingContract, "test_applications_by_id")
    monkeypatch.setattr(catalogue, "_page", first)
    with pytest.raises(AssertionError):
        try_on(PagingContract, "test_applications_by_id")

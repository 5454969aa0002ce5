"""A list of which one page is wrong is noticed."""

import asyncio

import pytest

from tarry.service.model.listing import FIRST, LAST, Cut
from tarry.testing.store_contract.pages import check_gone, check_pages

LIST = ["b", "c", "e", "f"]


async def right(cut: Cut) -> list[str]:
    low, high = cut.between(FIRST, LAST)
    between = (entry for entry in LIST if low < entry < high)
    return cut.in_order(sorted(between, reverse=not cut.upwards))


def test_a_list_that_is_right_passes() -> None:
    asyncio.run(check_pages(right, LIST, str))
    asyncio.run(check_gone(right, LIST, 2, "d"))


WRONG = [
    Cut(limit=1),
    Cut(limit=100, descending=True),
    Cut(limit=2, back=True),
    Cut(limit=2, mark="c"),
    Cut(limit=2, mark="e", descending=True),
    Cut(limit=2, mark="f", back=True),
    Cut(limit=2, mark="b", back=True, descending=True),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_one_wrong_page_is_noticed(wrong: Cut) -> None:
    async def read_page(cut: Cut) -> list[str]:
        return ["?"] if cut == wrong else await right(cut)

    with pytest.raises(AssertionError):
        asyncio.run(check_pages(read_page, LIST, str))


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("descending", [False, True])
def test_a_wrong_page_at_a_mark_that_is_gone_is_noticed(*, back: bool, descending: bool) -> None:
    wrong = Cut(limit=2, mark="d", back=back, descending=descending)

    async def read_page(cut: Cut) -> list[str]:
        return ["?"] if cut == wrong else await right(cut)

    with pytest.raises(AssertionError):
        asyncio.run(check_gone(read_page, LIST, 2, "d"))

"""Checks for a list: every page, from both ends, with marks that exist or are gone."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec.structs import replace

from tarry.service.model.listing import Cut

ALL = Cut(limit=100)
MILLISECOND = 0.001

Thing = TypeVar("Thing")


async def check_pages(
    read_page: Callable[[Cut], Awaitable[list[Thing]]],
    expected: list[Thing],
    mark: Callable[[Thing], str],
) -> None:
    """Check that every page of a list is the right part of it."""
    for descending in (False, True):
        whole = expected[::-1] if descending else expected
        for limit in (1, 2, 100):
            cut = Cut(limit=limit, descending=descending)
            assert await read_page(cut) == whole[:limit]
            assert await read_page(replace(cut, back=True)) == whole[-limit:]
        for index, thing in enumerate(whole):
            cut = Cut(limit=2, mark=mark(thing), descending=descending)
            assert await read_page(cut) == whole[index + 1 : index + 3]
            assert await read_page(replace(cut, back=True)) == whole[max(0, index - 2) : index]


async def check_gone(
    read_page: Callable[[Cut], Awaitable[list[Thing]]],
    expected: list[Thing],
    position: int,
    mark: str,
) -> None:
    """Check the pages around a mark whose entry is gone; it stood before `position`."""
    before, after = expected[:position], expected[position:]
    assert await read_page(Cut(limit=2, mark=mark)) == after[:2]
    assert await read_page(Cut(limit=2, mark=mark, back=True)) == before[-2:]
    assert await read_page(Cut(limit=2, mark=mark, descending=True)) == before[::-1][:2]
    assert await read_page(Cut(limit=2, mark=mark, descending=True, back=True)) == after[:2][::-1]

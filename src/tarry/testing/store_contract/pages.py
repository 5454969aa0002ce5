"""Checks for a list: every page, from both ends, with marks that exist or are gone."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec.structs import replace

from tarry.service.model.listing import Cut

ALL = Cut(limit=100)
MILLISECOND = 0.001

Thing = TypeVar("Thing")


async def check_pages(
    ask: Callable[[Cut], Awaitable[list[Thing]]], wanted: list[Thing], mark: Callable[[Thing], str]
) -> None:
    """Check that every page of a list is the right part of it."""
    for descending in (False, True):
        whole = wanted[::-1] if descending else wanted
        for limit in (1, 2, 100):
            cut = Cut(limit=limit, descending=descending)
            assert await ask(cut) == whole[:limit]
            assert await ask(replace(cut, back=True)) == whole[-limit:]
        for place, thing in enumerate(whole):
            cut = Cut(limit=2, mark=mark(thing), descending=descending)
            assert await ask(cut) == whole[place + 1 : place + 3]
            assert await ask(replace(cut, back=True)) == whole[max(0, place - 2) : place]


async def check_gone(
    ask: Callable[[Cut], Awaitable[list[Thing]]], wanted: list[Thing], place: int, mark: str
) -> None:
    """Check that a mark that is gone still has its place, before `place` in the list."""
    before, after = wanted[:place], wanted[place:]
    assert await ask(Cut(limit=2, mark=mark)) == after[:2]
    assert await ask(Cut(limit=2, mark=mark, back=True)) == before[-2:]
    assert await ask(Cut(limit=2, mark=mark, descending=True)) == before[::-1][:2]
    assert await ask(Cut(limit=2, mark=mark, descending=True, back=True)) == after[:2][::-1]

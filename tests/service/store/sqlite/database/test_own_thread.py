"""Work in its own thread learns when its caller has stopped waiting."""

import asyncio
from threading import Event

import pytest

from tarry.service.store.sqlite.database.own_thread import IsUnwanted, in_own_thread, never

pytestmark = pytest.mark.anyio


async def test_what_it_answers_and_raises_comes_back() -> None:
    assert await in_own_thread(lambda is_unwanted: (7, is_unwanted())) == (7, False)
    with pytest.raises(ZeroDivisionError):
        await in_own_thread(lambda _: 1 // 0)
    assert not never()


async def test_it_hears_that_nobody_waits_any_more() -> None:
    begun, heard = Event(), Event()

    def work(is_unwanted: IsUnwanted) -> None:
        begun.set()
        while not is_unwanted():
            pass
        heard.set()

    waiting = asyncio.create_task(in_own_thread(work))
    assert await asyncio.to_thread(begun.wait, 30)
    assert not heard.is_set()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await asyncio.to_thread(heard.wait, 30)

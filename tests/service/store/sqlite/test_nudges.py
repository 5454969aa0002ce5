"""Whoever listens is called on their own loop."""

import asyncio
from threading import get_ident

import pytest

from tarry.service.store.sqlite.nudges import Nudges

pytestmark = pytest.mark.anyio


async def test_a_nudge_comes_on_the_loops_thread_whoever_calls() -> None:
    nudges = Nudges()
    heard: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    nudges.add(lambda: heard.set_result(get_ident()))
    await asyncio.to_thread(nudges)
    assert await heard == get_ident()


async def test_all_who_listen_hear_it() -> None:
    nudges = Nudges()
    heard: list[str] = []
    nudges.add(lambda: heard.append("first"))
    nudges.add(lambda: heard.append("second"))
    nudges()
    assert heard == []
    await asyncio.sleep(0)
    assert heard == ["first", "second"]


def test_a_listener_whose_loop_is_closed_is_passed_over() -> None:
    nudges = Nudges()

    async def listen() -> None:
        nudges.add(lambda: None)

    asyncio.run(listen())
    nudges()

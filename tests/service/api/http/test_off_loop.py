import asyncio
from threading import Event, get_ident

import pytest

from tarry.service.api.http.off_loop import off_loop

pytestmark = pytest.mark.anyio


async def test_other_coroutines_run_meanwhile() -> None:
    may_end = Event()

    def work(word: str) -> tuple[str, int]:
        assert may_end.wait(30)
        return word, get_ident()

    running = asyncio.create_task(off_loop(work, "done"))
    await asyncio.sleep(0)
    may_end.set()
    word, thread = await running
    assert word == "done"
    assert thread != get_ident()


async def test_its_errors_reach_the_caller() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await off_loop(int, "no number")

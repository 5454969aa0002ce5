"""A delivery is followed from the call of `send` to the commit of its outcome."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

import pytest

from tarry.testing.virtual_loop import virtually
from tests.measure.delivery import SOURCES, Tracer, pausing
from tests.measure.house import files_of_a_delivery
from tests.project_files import ROOT

MOST_FILES = 51
"""How many files a reader opens who follows one delivery: fewer is better."""


@pytest.mark.slow
def test_a_delivery_passes_store_dispatcher_and_client_and_nothing_of_start_or_stop() -> None:
    files = files_of_a_delivery(ROOT)
    assert {
        "service/messages.py",
        "service/dispatch/lane/sending.py",
        "service/wire/client.py",
        "service/dispatch/settling/writer.py",
    } <= set(files)
    assert all((SOURCES / file).exists() for file in files)
    assert files == files_of_a_delivery(ROOT)
    assert not {"service/build.py", "service/hooks.py", "service/store/migrate.py"} & set(files)
    assert not [file for file in files if file.startswith("service/dispatch/upkeep/")]
    assert len(files) <= MOST_FILES, "\n".join(files)


def test_only_functions_count_and_only_while_the_tracer_is_on() -> None:
    tracer = Tracer()
    code = compile("def f(): pass\nf()", "traced.py", "exec")
    sys.setprofile(tracer)
    try:
        exec(code, {})  # noqa: S102  the code is above
        assert tracer.files == set()
        tracer.on = True
        exec(compile("x = 1", "module.py", "exec"), {})  # noqa: S102  likewise
        exec(code, {})  # noqa: S102  likewise
        tracer.on = False
    finally:
        sys.setprofile(None)
    assert tracer.files == {"traced.py"}


@virtually
async def test_while_a_message_is_followed_only_the_loops_run_that_a_delivery_needs() -> None:
    ran = []

    async def load_once() -> None:
        ran.append("load")

    async def read_rows_for_all() -> None:
        ran.append("read rows")

    async def upkeep_once() -> None:
        ran.append("upkeep")

    async def once(step: Callable[[], Awaitable[None]], every: float, *, signal: str) -> None:
        assert (every, signal) == (0.5, "signal")
        assert step.__name__ in {"load_once", "read_rows_for_all", "upkeep_once"}
        await step()

    others = asyncio.Lock()
    repeat = pausing(once, others)
    async with others:
        steps = [
            asyncio.ensure_future(repeat(step, 0.5, signal="signal"))
            for step in (upkeep_once, load_once, read_rows_for_all)
        ]
        await asyncio.wait(steps, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(steps[1:])
        assert ran == ["load", "read rows"]
        assert not steps[0].done()
    await asyncio.wait(steps)
    assert ran == ["load", "read rows", "upkeep"]

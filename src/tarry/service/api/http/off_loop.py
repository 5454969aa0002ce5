"""Run work that takes long in a thread, so that other requests go on meanwhile."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

THREADS = 2
"""How many pieces of work run at once. Others wait, also those of other tenants."""

P = ParamSpec("P")
T = TypeVar("T")

_executor = ThreadPoolExecutor(THREADS, thread_name_prefix="tarry-long-work")


async def off_loop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a function that is called in a thread."""
    return await asyncio.get_running_loop().run_in_executor(
        _executor, lambda: function(*args, **kwargs)
    )

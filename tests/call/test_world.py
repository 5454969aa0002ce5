import asyncio
import json
import os
import random
import subprocess
import sys
import threading
import time
from itertools import islice

import anyio
import pytest

from tarry import Full, Policy, TarryError
from tarry.call.world import World, async_library, world

pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)


def draws(count: int = 4) -> list[float]:
    return [world.draw() for _ in range(count)]


def draws_of_a_child(count: int = 4) -> list[float]:
    """The first draws of a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover  coverage does not see the child
        os.write(writer, json.dumps(draws(count)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        drawn: list[float] = json.loads(pipe.read())
    os.waitpid(child, 0)
    return drawn


def test_by_default_the_world_is_the_real_one() -> None:
    real = World()
    assert real.clock is time.monotonic
    assert real.wall is time.time
    assert real.sleep is time.sleep
    assert real.draw == world.draw


def test_nothing_can_be_put_into_the_world_by_mistake() -> None:
    with pytest.raises(AttributeError):
        world.clok = time.monotonic  # type: ignore[attr-defined]


def test_a_program_that_seeds_the_global_chance_does_not_seed_ours() -> None:
    random.seed(7)
    first = draws()
    random.seed(7)
    assert draws() != first


def test_forked_processes_never_draw_the_same() -> None:
    before = draws()
    drawn = [*before, *draws_of_a_child(), *draws_of_a_child(), *draws_of_a_child(), *draws()]
    assert len(set(drawn)) == len(drawn)


def test_forked_processes_never_wait_the_same() -> None:
    """What the draws are for: the waits of two children of one parent."""
    policy = Policy(jitter=Full())
    waits = [tuple(islice(policy.waits(), 3))]
    for _ in range(3):
        drawn = iter(draws_of_a_child(3))
        waits.append(tuple(next(drawn) * wait for wait in (0.1, 0.2, 0.4)))
    assert len({wait for some in waits for wait in some}) == 12


def test_threads_draw_each_their_own() -> None:
    drawn: list[list[float]] = []
    threads = [threading.Thread(target=lambda: drawn.append(draws(500))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({draw for some in drawn for draw in some}) == 4_000
    assert all(0 <= draw < 1 for some in drawn for draw in some)


@pytest.mark.anyio
async def test_waiting_is_left_to_the_event_loop_at_work(anyio_backend_name: str) -> None:
    assert async_library() is (asyncio if anyio_backend_name == "asyncio" else anyio)
    began = time.monotonic()
    await world.asleep(0.01)
    assert time.monotonic() - began >= 0.009


def test_without_an_event_loop_it_is_anyios_to_say_so() -> None:
    assert async_library() is anyio


def run(program: str) -> str:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_outside_asyncio_and_without_anyio_the_error_says_what_to_install() -> None:
    said = run(
        "import sys; sys.modules['anyio'] = None\n"
        "from tarry.call.world import async_library\n"
        "try: async_library()\n"
        "except Exception as error: print(type(error).__name__, error, error.__cause__)"
    )
    assert said == (
        f"{TarryError.__name__} outside asyncio tarry waits through anyio: "
        "pip install 'tarry[trio]' None"
    )


def test_asking_for_the_event_loop_does_not_import_asyncio() -> None:
    said = run(
        "import sys; sys.modules['anyio'] = None\n"
        "from tarry.call.world import async_library\n"
        "try: async_library()\n"
        "except Exception: print('asyncio' in sys.modules)"
    )
    assert said == "False"


def test_where_there_is_no_fork_there_is_nothing_to_do_about_it() -> None:
    assert run(
        "import os, random; del os.register_at_fork; import tarry; print(tarry.Quota())"
    ) == ("<Quota 'quota': 500 of 500 tokens>")

"""The event loop of the simulation: virtual time, processes, and an order chosen by a seed."""

import asyncio
from random import Random

import pytest

from tests.simulation.loop import Process, SimulatedLoop


class Crashes:
    """Collects the exceptions of crashed processes."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def __call__(self, process: Process, error: BaseException) -> None:
        self.seen.append((process.name, repr(error)))


def a_loop(seed: int = 1, *, any_order: bool = False, lag: float = 0.0) -> SimulatedLoop:
    return SimulatedLoop(Random(seed), any_order=any_order, lag=lag, on_crash=Crashes())


def test_a_day_of_sleep_takes_no_time() -> None:
    loop, seen = a_loop(), list[float]()

    async def sleep() -> None:
        await asyncio.sleep(86_400)
        seen.append(loop.time())

    loop.start(Process("sleeper"), sleep())
    loop.run_to(100_000)
    assert seen == [86_400]
    assert loop.time() == 100_000


def test_what_asyncio_offers_works() -> None:
    loop, seen = a_loop(), list[str]()

    async def program() -> None:
        event, lock = asyncio.Event(), asyncio.Lock()

        async def set_later() -> None:
            async with lock:
                await asyncio.sleep(1)
                event.set()

        async with asyncio.TaskGroup() as group:
            group.create_task(set_later())
            await event.wait()
        try:
            async with asyncio.timeout(2):
                await asyncio.sleep(10)
        except TimeoutError:
            seen.append(f"timed out at {loop.time():g}")
        seen.append(str(await asyncio.gather(asyncio.sleep(1, "a"), asyncio.sleep(2, "b"))))

    loop.start(Process("program"), program())
    loop.run_to(100)
    assert seen == ["timed out at 3", "['a', 'b']"]


def test_a_process_runs_its_callbacks_in_order() -> None:
    loop, process, seen = a_loop(), Process("one"), list[int]()
    for number in range(20):
        loop.soon_in(process, seen.append, number)
    loop.run_for(0)
    assert seen == list(range(20))


def orders(seed: int, *, any_order: bool) -> list[str]:
    loop, seen = a_loop(seed, any_order=any_order), list[str]()
    for name in "ab":
        process = Process(name)
        for number in range(5):
            loop.soon_in(process, seen.append, f"{name}{number}")
    loop.run_for(0)
    return seen


@pytest.mark.parametrize("any_order", [False, True])
def test_the_order_between_processes_depends_on_the_seed_alone(any_order: bool) -> None:  # noqa: FBT001  a parameter
    assert orders(3, any_order=any_order) == orders(3, any_order=any_order)
    assert len({tuple(orders(seed, any_order=any_order)) for seed in range(20)}) > 10


def test_any_order_is_free_within_a_process_too() -> None:
    assert any(
        [name for name in orders(seed, any_order=True) if name.startswith("a")]
        != [f"a{number}" for number in range(5)]
        for seed in range(10)
    )
    for seed in range(10):
        ours = [name for name in orders(seed, any_order=False) if name.startswith("a")]
        assert ours == [f"a{number}" for number in range(5)]


def test_a_suspended_process_goes_on_where_it_was() -> None:
    loop, process, seen = a_loop(), Process("one"), list[float]()

    async def tick() -> None:
        while True:
            seen.append(loop.time())
            await asyncio.sleep(1)

    loop.start(process, tick())
    loop.run_to(2.5)
    loop.suspend(process)
    loop.run_to(7.5)
    loop.go_on(process)
    loop.run_to(9)
    assert seen == [0, 1, 2, 7.5, 8.5]


def test_a_killed_process_does_nothing_more_until_it_is_cleared_away() -> None:
    loop, process, seen = a_loop(), Process("one"), list[str]()

    async def wait() -> None:
        try:
            await asyncio.sleep(1)
            seen.append("woke")
        finally:
            seen.append("cleared away")

    task = loop.start(process, wait())
    loop.run_to(0.5)
    loop.kill(process)
    loop.run_to(10)
    assert seen == []
    loop.revive(process)
    task.cancel()
    loop.run_for(0)
    assert seen == ["cleared away"]


def test_tasks_and_timers_belong_to_the_process_that_started_them() -> None:
    loop, one, other, seen = a_loop(), Process("one"), Process("other"), list[str]()

    async def child(name: str) -> None:
        await asyncio.sleep(1)
        seen.append(name)

    async def parent(name: str) -> None:
        asyncio.get_running_loop().call_later(1, seen.append, f"timer of {name}")
        await asyncio.create_task(child(name))

    loop.start(one, parent("one"))
    task = loop.start(other, parent("other"))
    loop.run_to(0.5)
    loop.kill(other)
    loop.run_to(10)
    assert sorted(seen) == ["one", "timer of one"]
    loop.revive(other)
    task.cancel()
    loop.run_for(0)


def test_a_lagging_machine_is_late() -> None:
    loop, process, seen = a_loop(lag=0.1), Process("one"), list[float]()
    for _ in range(50):
        loop.soon_in(process, lambda: seen.append(loop.time()))
    loop.later_in(process, 0.2, lambda: seen.append(-loop.time()))
    loop.run_to(100)
    (timer_at,) = [-at for at in seen if at < 0]
    assert 1 < max(seen) <= timer_at < 5  # it had to wait for those that were ready before


def test_an_exception_of_a_callback_is_reported_and_does_not_stop_the_others() -> None:
    crashes, seen = Crashes(), list[int]()
    loop = SimulatedLoop(Random(1), on_crash=crashes)
    process = Process("one")
    loop.soon_in(process, {}.pop, "key")
    loop.soon_in(process, seen.append, 1)
    loop.run_for(0)
    assert seen == [1]
    assert crashes.seen == [("one", "KeyError('key')")]


def test_an_exception_of_the_world_itself_stops_the_run() -> None:
    loop = a_loop()
    loop.soon_in(loop.world, lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        loop.run_for(0)


def test_a_cancelled_timer_does_not_fire() -> None:
    loop, seen = a_loop(), list[int]()
    loop.later_in(Process("one"), 1, seen.append, 1).cancel()
    loop.run_to(2)
    assert seen == []

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from threading import Thread

import anyio
import anyio.lowlevel
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry.call.world import world
from tarry.testing import PushedClock, pushed_clock

Run = Callable[[Callable[[], Awaitable[None]]], None]
DAY = 24 * 60 * 60


def under_asyncio(main: Callable[[], Awaitable[None]]) -> None:
    async def awaited() -> None:
        await main()

    asyncio.run(awaited())


def under_trio(main: Callable[[], Awaitable[None]]) -> None:
    trio.run(main)


everywhere = pytest.mark.parametrize("run", [under_asyncio, under_trio])


async def asleep(seconds: float) -> None:
    await world.asleep(seconds)


def waiting(seconds: float, attempts: int) -> tarry.Policy:
    """A policy that waits the same each time."""
    backoff = tarry.Fixed(seconds)
    return tarry.Policy(backoff=backoff, jitter=tarry.NoJitter(), attempts=attempts, within=None)


def test_it_stands_still_until_it_is_pushed() -> None:
    clock = PushedClock()
    assert clock.now == 0.0
    clock.push(1.5)
    clock.push(timedelta(minutes=1))
    assert clock.now == 61.5
    assert clock.slept == []


def test_it_starts_where_it_is_told_to() -> None:
    clock = PushedClock(100, wall=1_000_000)
    assert (clock.now, clock.wall) == (100.0, 1_000_000.0)
    clock.push(5)
    assert (clock.now, clock.wall) == (105.0, 1_000_005.0)


def test_its_time_of_day_is_the_real_one_unless_told() -> None:
    before = time.time()
    clock = PushedClock()
    assert before <= clock.wall <= time.time()


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "soon"])
def test_it_goes_forward_only(wrong: float) -> None:
    clock = PushedClock()
    with pytest.raises(tarry.PolicyError, match="'seconds' is"):
        clock.push(wrong)
    assert clock.now == 0.0


def test_a_block_has_a_clock_of_its_own_and_gives_the_real_one_back() -> None:
    def parts() -> tuple[object, ...]:
        return world.clock, world.wall, world.sleep, world.asleep

    real = parts()
    with pushed_clock(5, wall=70) as outer:
        assert (world.clock(), world.wall()) == (5.0, 70.0)
        world.sleep(2)
        assert (world.clock(), world.wall()) == (7.0, 72.0)
        with pushed_clock() as inner:
            world.sleep(3)
            assert (inner.now, outer.now) == (3.0, 7.0)
        with pytest.raises(LookupError), pushed_clock():
            raise LookupError
        world.sleep(1)
        assert outer.slept == [2, 1]
        assert outer.now == 8.0
    assert parts() == real


def test_a_plain_call_waits_in_no_time() -> None:
    with pushed_clock() as clock:
        call = tarry.retry(waiting(DAY, 4), until=bool)(lambda: clock.now >= 3 * DAY)
        assert call()
    assert clock.slept == [DAY, DAY, DAY]


@everywhere
def test_an_async_call_waits_in_no_time(run: Run) -> None:
    async def main() -> None:
        @tarry.retry(waiting(DAY, 4), until=bool)
        async def call() -> bool:
            return clock.now >= 3 * DAY

        assert await call()

    with pushed_clock() as clock:
        run(main)
    assert clock.slept == [DAY, DAY, DAY]


@everywhere
def test_others_run_while_a_task_sleeps(run: Run) -> None:
    order: list[str] = []

    async def sleeps() -> None:
        order.append("goes to sleep")
        await world.asleep(1)
        order.append("wakes")

    async def works() -> None:
        order.append("works")

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(sleeps)
            group.start_soon(works)

    with pushed_clock():
        run(main)
    assert order[-1] == "wakes"
    assert sorted(order[:2]) == ["goes to sleep", "works"]


@everywhere
def test_tasks_wake_in_the_order_they_are_due(run: Run) -> None:
    woken: list[tuple[str, float]] = []

    async def sleeps(name: str, *waits: float) -> None:
        for wait in waits:
            await world.asleep(wait)
            woken.append((name, clock.now))

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(sleeps, "slow", 10, 10)
            group.start_soon(sleeps, "quick", 3, 3, 3, 3)
            group.start_soon(sleeps, "long", 3600)

    with pushed_clock() as clock:
        run(main)
    assert woken == [
        *(("quick", 3.0), ("quick", 6.0), ("quick", 9.0), ("slow", 10.0)),
        *(("quick", 12.0), ("slow", 20.0), ("long", 3600.0)),
    ]


def test_tasks_that_are_due_together_wake_as_they_went_to_sleep() -> None:
    woken: list[int] = []

    async def sleeps(name: int) -> None:
        await world.asleep(5)
        woken.append(name)

    async def main() -> None:
        await asyncio.gather(*map(sleeps, range(20)))

    with pushed_clock() as clock:
        asyncio.run(main())
    assert woken == list(range(20))
    assert clock.now == 5.0


@everywhere
def test_time_waits_for_a_task_that_takes_some_steps_between_its_sleeps(run: Run) -> None:
    woken: list[float] = []

    async def step() -> None:
        await anyio.lowlevel.checkpoint()

    async def quick() -> None:
        for _ in range(9):
            await world.asleep(1)
            woken.append(clock.now)
            async with anyio.create_task_group() as group:
                group.start_soon(step)
                group.start_soon(step)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(asleep, 10)
            group.start_soon(quick)

    with pushed_clock() as clock:
        run(main)
    assert woken == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert clock.now == 10.0


@everywhere
def test_a_sleeper_that_is_cancelled_makes_way(run: Run) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as scope:
                group.start_soon(asleep, 10)
                group.start_soon(cancel, scope)
                await world.asleep(5)
        assert scope.cancelled_caught

    async def cancel(scope: anyio.CancelScope) -> None:
        await anyio.lowlevel.checkpoint()
        scope.cancel()

    with pushed_clock() as clock:
        run(main)
    assert clock.now == 10.0


@everywhere
def test_a_push_while_tasks_sleep_makes_them_late_not_lost(run: Run) -> None:
    woken: list[float] = []

    async def sleeps(seconds: float) -> None:
        await world.asleep(seconds)
        woken.append(clock.now)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for seconds in (1, 60, 2):
                group.start_soon(sleeps, seconds)
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            clock.push(30)

    with pushed_clock() as clock:
        run(main)
    assert woken == [30.0, 30.0, 60.0]


def test_a_thousand_tasks_retry_side_by_side() -> None:
    async def main() -> None:
        @tarry.retry(waiting(60, 4), until=bool)
        async def call(began_at: float) -> bool:
            return clock.now - began_at >= 180

        assert all(await asyncio.gather(*(call(clock.now) for _ in range(1_000))))

    with pushed_clock() as clock:
        asyncio.run(main())
    assert clock.now == 180.0, "side by side, not one after the other"
    assert clock.slept == [60.0] * 3_000


def test_what_threads_sleep_adds_up() -> None:
    with pushed_clock() as clock:
        threads = [Thread(target=sleep_often) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert clock.now == 8 * 500
    assert len(clock.slept) == 8 * 500


def sleep_often() -> None:
    for _ in range(500):
        world.sleep(1)


def test_event_loops_in_several_threads_do_not_disturb_each_other() -> None:
    finished: list[int] = []

    async def main() -> None:
        await asyncio.gather(*(world.asleep(seconds) for seconds in range(1, 20)))
        finished.append(1)

    with pushed_clock() as clock:
        threads = [Thread(target=lambda: asyncio.run(main())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(finished) == 4
    assert clock.now >= 19.0


def test_a_clock_serves_one_event_loop_after_the_other() -> None:
    with pushed_clock() as clock:
        under_asyncio(lambda: world.asleep(1))
        under_trio(lambda: world.asleep(2))
        under_asyncio(lambda: world.asleep(3))
    assert clock.now == 6.0


@given(st.lists(st.lists(st.integers(0, 20), max_size=5), max_size=6))
def test_virtual_time_is_what_real_time_would_be(tasks: list[list[int]]) -> None:
    woken: list[float] = []

    async def sleeps(waits: list[int]) -> None:
        due_at = 0.0
        for wait in waits:
            await world.asleep(wait)
            due_at += wait
            assert clock.now == due_at
            woken.append(clock.now)

    async def main() -> None:
        await asyncio.gather(*map(sleeps, tasks))

    with pushed_clock() as clock:
        asyncio.run(main())
    assert woken == sorted(woken)
    assert clock.now == max((sum(waits) for waits in tasks), default=0)

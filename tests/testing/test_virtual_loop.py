"""Virtual time: timers pass at once and in order, and a program that waits for nothing is told."""

import asyncio
import time

import pytest

from tarry.testing.virtual_loop import VirtualLoop, run_virtual, virtually


def now() -> float:
    return asyncio.get_running_loop().time()


def test_time_starts_at_nothing_and_moves_only_by_waiting() -> None:
    async def story() -> list[float]:
        times = [now()]
        for _ in range(100):
            await asyncio.sleep(0)
        times.append(now())
        await asyncio.sleep(2.5)
        return [*times, now()]

    assert run_virtual(story()) == [0.0, 0.0, pytest.approx(2.5)]


@pytest.mark.parametrize("days", [1, 200, 3650])
def test_years_pass_in_moments(days: int) -> None:
    async def story() -> float:
        await asyncio.sleep(days * 86_400)
        return now()

    started_at = time.monotonic()
    assert run_virtual(story()) == pytest.approx(days * 86_400)
    assert time.monotonic() - started_at < 60


def test_timers_fire_in_order_and_at_their_time() -> None:
    async def story() -> list[tuple[str, float]]:
        fired = []

        async def sleeper(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            fired.append((name, round(now(), 6)))

        await asyncio.gather(sleeper("c", 3600), sleeper("a", 0.25), sleeper("b", 60))
        return fired

    assert run_virtual(story()) == [("a", 0.25), ("b", 60.0), ("c", 3600.0)]


def test_what_can_be_done_now_is_done_before_time_moves() -> None:
    async def story() -> list[float]:
        event, times = asyncio.Event(), []

        async def waits() -> None:
            await event.wait()
            times.append(now())

        task = asyncio.create_task(waits())
        asyncio.get_running_loop().call_later(10, event.set)
        asyncio.get_running_loop().call_later(10.5, lambda: times.append(now()))
        await asyncio.sleep(11)
        await task
        return times

    assert run_virtual(story()) == pytest.approx([10.0, 10.5])


def test_a_time_limit_ends_what_takes_longer_in_virtual_time() -> None:
    async def story() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.sleep(31)
        return now()

    assert run_virtual(story()) == pytest.approx(30)


def test_a_timer_that_is_cancelled_does_not_fire() -> None:
    async def story() -> list[str]:
        fired: list[str] = []
        loop = asyncio.get_running_loop()
        loop.call_later(5, fired.append, "cancelled").cancel()
        loop.call_later(6, fired.append, "kept")
        await asyncio.sleep(7)
        return fired

    assert run_virtual(story()) == ["kept"]


def test_a_program_that_waits_for_what_never_comes_is_told_instead_of_hanging() -> None:
    with pytest.raises(RuntimeError, match="nothing is left that could ever happen"):
        run_virtual(asyncio.Event().wait())


def test_what_a_program_returns_and_raises_comes_out() -> None:
    async def fails() -> None:
        await asyncio.sleep(1)
        raise LookupError("as it should")

    assert run_virtual(asyncio.sleep(1, "done")) == "done"
    with pytest.raises(LookupError, match="as it should"):
        run_virtual(fails())


def test_two_runs_know_nothing_of_each_other() -> None:
    async def story() -> float:
        await asyncio.sleep(9)
        return now()

    assert [run_virtual(story()) for _ in range(2)] == pytest.approx([9.0, 9.0])


def test_a_thread_may_call_in_while_timers_are_ahead() -> None:
    async def story() -> list[str]:
        loop, called = asyncio.get_running_loop(), list[str]()
        loop.call_soon_threadsafe(called.append, "hello")
        await asyncio.sleep(1)
        return called

    assert run_virtual(story()) == ["hello"]


def test_a_story_keeps_its_name_and_takes_its_arguments() -> None:
    @virtually
    async def story(seconds: float, *, then: str) -> tuple[str, float]:
        """It waits."""
        return await asyncio.sleep(seconds, then), now()

    assert story(5, then="done") == ("done", 5.0)
    assert (story.__name__, story.__doc__) == ("story", "It waits.")


def test_a_loop_of_its_own_can_be_used_as_any_other() -> None:
    loop = VirtualLoop()
    try:
        assert loop.run_until_complete(asyncio.sleep(3, "x")) == "x"
        assert loop.time() == pytest.approx(3)
    finally:
        loop.close()

"""T7: cancellation.

Elsewhere a with-block absorbs CancelledError, so that the code after it runs on and may even
await; and a predicate that names what is *not* retried retries it, so that `wait_for(..., 0.05)`
returns normally after 0.26 s and two runs.
"""

import asyncio
import time

import anyio.lowlevel
import pytest

import tarry
from tarry import Fixed, Policy, PolicyError

THREE = Policy(backoff=Fixed(0), attempts=3)


def not_value_error(error: Exception) -> bool:
    return not isinstance(error, ValueError)


def test_wait_for_ends_a_call_in_time_and_it_ran_once() -> None:
    runs: list[int] = []

    @tarry.retry(THREE, on=not_value_error)
    async def works() -> None:
        runs.append(1)
        await asyncio.sleep(60)

    async def main() -> float:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(works(), 0.02)
        return time.monotonic() - began

    assert asyncio.run(main()) < 30
    assert runs == [1]


@pytest.mark.anyio
async def test_no_code_runs_after_a_block_that_was_cancelled() -> None:
    reached: list[str] = []

    async def works() -> None:
        async for attempt in tarry.attempts(THREE, on=not_value_error):
            with attempt:
                reached.append("block")
                await anyio.sleep_forever()
            reached.append("after the block")
        reached.append("after the loop")
        await anyio.lowlevel.checkpoint()
        reached.append("after another await")

    with anyio.move_on_after(0.02) as scope:
        await works()
    assert scope.cancelled_caught
    assert reached == ["block"]


def test_a_task_that_is_cancelled_in_a_block_is_cancelled() -> None:
    async def main() -> None:
        started = asyncio.Event()

        async def works() -> None:
            async for attempt in tarry.attempts(THREE, on=Exception):
                async with attempt:
                    started.set()
                    await asyncio.sleep(5)

        task = asyncio.create_task(works())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert task.cancelling() == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    "kind", [asyncio.CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit, BaseException]
)
def test_what_ends_a_task_or_program_cannot_be_named(kind: type[Exception]) -> None:
    with pytest.raises(PolicyError, match="cancellation and exit are never retried"):
        tarry.retry(on=kind)


@pytest.mark.parametrize(
    "kind", [asyncio.CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit]
)
def test_what_ends_a_task_or_program_is_not_even_shown_to_predicates_or_told(
    kind: type[BaseException], slept: list[float]
) -> None:
    asked: list[object] = []

    def asks(error: Exception) -> bool:
        asked.append(error)
        return True

    @tarry.retry(THREE, on=asks, hooks=asked.append)
    def ends() -> None:
        raise kind

    with pytest.raises(kind) as caught:
        ends()
    assert asked == []
    assert slept == []
    assert not hasattr(caught.value, "__notes__")

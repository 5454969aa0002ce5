"""T2: shared mutable state.

Elsewhere a decorated function in 8 threads raised a KeyError of the library instead of the user's
error, a shared async loop gave 200 tasks one or two attempts instead of three, 199 of 200 failing
calls returned None, and one decorator on three functions logged everything three times.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.lowlevel
import pytest

import tarry
from tarry import Breaker, Fixed, Policy, Quota
from tarry.observe import Event, Retrying

THREE = Policy(backoff=Fixed(0), attempts=3)


class OwnError(Exception):
    """Names the call it belongs to."""


@pytest.fixture
def hectic() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("guarded", [False, True])
def test_8_threads_with_3000_calls_each_get_their_own_error_after_three_attempts(
    *, guarded: bool
) -> None:
    budget, breaker = (Quota(1e9), Breaker(failures=10**9)) if guarded else (None, None)

    @tarry.retry(THREE, on=OwnError, budget=budget, breaker=breaker)
    def fails(call: tuple[int, int], tries: list[int]) -> None:
        tries.append(1)
        raise OwnError(call, len(tries))

    def work(thread: int) -> int:
        right = 0
        for number in range(3_000 if not guarded else 1_000):
            try:
                fails((thread, number), [])
            except OwnError as error:
                right += error.args == ((thread, number), 3)
        return right

    with ThreadPoolExecutor(8) as pool:
        right = sum(pool.map(work, range(8)))
    assert right == (8 * 3_000 if not guarded else 8 * 1_000)


@pytest.mark.anyio
async def test_200_calls_at_once_make_three_attempts_each() -> None:
    made: list[list[int]] = [[] for _ in range(200)]

    @tarry.retry(THREE, on=OwnError)
    async def fails(number: int) -> None:
        made[number].append(1)
        await anyio.lowlevel.checkpoint()
        raise OwnError(number)

    async def call(number: int) -> None:
        with pytest.raises(OwnError) as caught:
            await fails(number)
        assert caught.value.args == (number,)
        assert "after 3 attempts" in caught.value.__notes__[0]

    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(call, number)
    assert [len(tries) for tries in made] == [3] * 200


@pytest.mark.anyio
async def test_one_attempts_object_gives_200_tasks_three_attempts_each() -> None:
    shared = tarry.attempts(THREE, on=OwnError)
    made: list[list[int]] = [[] for _ in range(200)]

    async def call(number: int) -> None:
        with pytest.raises(OwnError) as caught:  # noqa: PT012  the loop is what is tested
            async for attempt in shared:
                async with attempt:
                    made[number].append(attempt.number)
                    await anyio.lowlevel.checkpoint()
                    raise OwnError(number)
        assert caught.value.args == (number,)

    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(call, number)
    assert made == [[1, 2, 3]] * 200


@pytest.mark.anyio
async def test_one_policy_called_by_200_tasks_with_hooks_raises_200_errors() -> None:
    heard: list[Event] = []
    raised: list[object] = []

    async def fails(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        raise OwnError(number)

    async def call(number: int) -> None:
        try:
            await THREE.acall(fails, number, on=OwnError, hooks=heard.append)
        except OwnError as error:
            raised.append(error.args[0])

    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(call, number)
    assert sorted(raised, key=str) == sorted(range(200), key=str)
    assert sum(isinstance(event, Retrying) for event in heard) == 400


def test_one_decorator_on_three_functions_tells_each_retry_once() -> None:
    heard: list[Event] = []
    decorate = tarry.retry(THREE, on=OwnError, hooks=heard.append)

    def one() -> None:
        raise OwnError

    def two() -> None:
        raise OwnError

    def three() -> None:
        raise OwnError

    for function in [decorate(one), decorate(two), decorate(three)]:
        heard.clear()
        with pytest.raises(OwnError):
            function()
        assert sum(isinstance(event, Retrying) for event in heard) == 2

"""T16: zero waits.

`time.sleep(0)` costs 64 us where this was measured, 134 times the rest of an attempt; five
libraries pay it. The rule: where there is nothing to wait for, nobody is asked to wait.
"""

import pytest

import tarry
from tarry import Breaker, Failure, Fixed, Full, NoJitter, Policy, Quota
from tarry.call.world import world
from tarry.core.jitter import Jitter

JITTERS: list[Jitter] = [NoJitter(), Full()]


@pytest.fixture
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: float) -> None:
        raise AssertionError("nobody is to sleep")

    monkeypatch.setattr(world, "sleep", forbidden)
    monkeypatch.setattr(world, "asleep", forbidden)


@pytest.mark.usefixtures("no_sleep")
@pytest.mark.parametrize("jitter", JITTERS, ids=repr)
@pytest.mark.parametrize("guarded", [False, True])
def test_a_plain_call_does_not_sleep(jitter: Jitter, *, guarded: bool) -> None:
    tries: list[int] = []
    budget, breaker = (Quota(), Breaker(failures=99)) if guarded else (None, None)
    policy = Policy(backoff=Fixed(0), jitter=jitter, attempts=10)

    @tarry.retry(policy, on=KeyError, budget=budget, breaker=breaker)
    def fails() -> None:
        tries.append(1)
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert len(tries) == 10


@pytest.mark.usefixtures("no_sleep")
@pytest.mark.anyio
async def test_an_async_call_and_block_do_not_sleep() -> None:
    policy = Policy(backoff=Fixed(0), attempts=10)
    tries: list[int] = []

    @tarry.retry(policy, on=KeyError)
    async def fails() -> None:
        tries.append(1)
        raise KeyError

    with pytest.raises(KeyError):
        await fails()
    with pytest.raises(KeyError):  # noqa: PT012  the loop is what is tested
        async for attempt in tarry.attempts(policy, on=KeyError):
            async with attempt:
                tries.append(1)
                raise KeyError
    with pytest.raises(KeyError):  # noqa: PT012  the loop is what is tested
        for attempt in tarry.attempts(policy, on=KeyError):
            with attempt:
                tries.append(1)
                raise KeyError
    assert len(tries) == 30


@pytest.mark.usefixtures("no_sleep")
def test_a_server_that_says_now_is_not_slept_for() -> None:
    tries: list[int] = []

    @tarry.retry(Policy(backoff=Fixed(0)), on=lambda _: Failure(retry_after=0))
    def fails() -> None:
        tries.append(1)
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert len(tries) == 5


def test_a_wait_that_is_not_zero_is_slept(slept: list[float]) -> None:
    with pytest.raises(KeyError):
        Policy(backoff=Fixed(5e-324), jitter=NoJitter()).call(
            dict[int, int]().__getitem__, 1, on=KeyError
        )
    assert slept == [5e-324] * 4

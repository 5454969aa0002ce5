"""T3: the clock.

Elsewhere, with the clock set back by an hour in the midst of a call, a limit of 0.1 s ran on to
the 200th try; and a wait of 10 s was told as 5 h 10 s in New York.
"""

import time
from collections.abc import Callable

import pytest

import tarry
from tarry import Breaker, CircuitOpen, Fixed, NoJitter, Policy, Ratio
from tarry.call.world import World, world


def test_time_is_monotonic_by_default() -> None:
    assert World().clock is time.monotonic


def test_a_clock_that_is_set_back_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls are real, and so is the time; only what the clock on the wall says is not."""
    wall = [time.time()]

    def jumps() -> float:
        wall[0] -= 3_600
        return wall[0]

    monkeypatch.setattr(time, "time", jumps)
    monkeypatch.setattr(world, "wall", jumps)
    tries: list[int] = []

    @tarry.retry(
        Policy(backoff=Fixed(0.01), jitter=NoJitter(), attempts=200, within=0.1), on=KeyError
    )
    def fails() -> None:
        tries.append(1)
        raise KeyError

    with pytest.raises(KeyError) as caught:
        fails()
    assert "no time is left" in caught.value.__notes__[0]
    assert len(tries) <= 11


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Pacific/Apia"])
def test_a_breaker_says_the_same_wait_in_every_time_zone(
    zone: str, monkeypatch: pytest.MonkeyPatch, push: Callable[[float], None]
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        breaker = Breaker(open_for=10, jitter=0)
        breaker.trip()
        push(4)
        with pytest.raises(CircuitOpen) as caught:
            breaker.enter()
        assert caught.value.retry_in == 6
        push(6)
        assert breaker.enter()
    finally:
        monkeypatch.undo()
        time.tzset()


def test_no_guard_and_no_call_looks_at_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> float:
        raise AssertionError("that is the clock on the wall")

    breaker, ratio = Breaker(failures=3, rate=0.5, slow=1), Ratio()
    retried = tarry.retry(
        Policy(backoff=Fixed(0), attempts=2), on=KeyError, breaker=breaker, budget=ratio
    )
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", forbidden)
        patch.setattr(time, "localtime", forbidden)
        patch.setattr(world, "wall", forbidden)
        with pytest.raises(KeyError):
            retried(dict[int, int]().__getitem__)(1)
        assert retried(len)("x") == 1
        breaker.trip()
        with pytest.raises(CircuitOpen):
            retried(len)("x")


@pytest.mark.usefixtures("still_time")
def test_a_clock_that_stands_still_does_no_harm() -> None:
    tries: list[int] = []

    @tarry.retry(
        Policy(backoff=Fixed(0), attempts=50, within=0), on=KeyError, budget=Ratio(1.0, 1, 99)
    )
    def fails() -> None:
        tries.append(1)
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert len(tries) == 50

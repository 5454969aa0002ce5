"""The dispatcher's time.

Its clock follows the database's once and goes steadily from there. Many lanes are woken at their
times by one timer.
"""

import asyncio
import math
import time

import pytest

from tarry.service.dispatch.clock import SPARE_ALARMS, Alarms, Clock, Timer, steady
from tarry.testing.samples import NOON
from tarry.testing.virtual_loop import virtually

# --- The clock ----------------------------------------------------------------------------------


def test_it_shows_the_database_s_time_at_the_start() -> None:
    assert Clock(NOON, lambda: 77.0)() == NOON


def test_it_goes_on_with_its_source() -> None:
    times = iter([50.0, 50.25, 3650.0])
    clock = Clock(NOON, lambda: next(times))
    assert (clock(), clock()) == (NOON + 0.25, NOON + 3600)


def test_a_step_of_the_wall_clock_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(NOON)
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert NOON <= clock() < NOON + 60


@pytest.mark.parametrize("step", [-3600.0, -1.0, 0.0, 1.0, 3600.0])
def test_a_step_of_the_database_s_clock_is_found_once(step: float) -> None:
    clock = Clock(NOON, lambda: 77.0)
    assert clock.compare(NOON + step, asked_at=NOON) == step
    assert clock.compare(NOON + step, asked_at=NOON) == 0
    assert (clock(), clock.wall(clock())) == (NOON, NOON + step)
    assert clock.compare(NOON, asked_at=NOON) == -step
    assert (clock(), clock.wall(clock())) == (NOON, NOON)


@pytest.mark.parametrize("at", [0.0, 2.5, 5.0])
def test_a_database_that_answered_late_has_not_stepped(at: float) -> None:
    time_ = iter([0.0, 5.0])
    clock = Clock(NOON, lambda: next(time_))
    assert clock.compare(NOON + at, asked_at=NOON) == 0


def test_its_source_only_goes_forward() -> None:
    found = [steady() for _ in range(100)]
    assert found == sorted(found)


def test_its_source_counts_the_time_of_a_suspension(monkeypatch: pytest.MonkeyPatch) -> None:
    slept_an_hour = {time.CLOCK_MONOTONIC: 100.0, time.CLOCK_BOOTTIME: 3700.0}
    monkeypatch.setattr("time.clock_gettime", slept_an_hour.__getitem__)
    assert steady() == 3700.0


# --- Alarms -------------------------------------------------------------------------------------


class Lane:
    """Notes when it was woken, and goes on as often as it is told to."""

    def __init__(self, alarms: Alarms, *, every: float = 0.0, times: int = 1) -> None:
        self.wake_at = math.inf
        self.woken_at: list[float] = []
        self._alarms, self._every, self._times = alarms, every, times

    def set_alarm(self, at: float) -> None:
        self.wake_at = at

    def pump(self) -> None:
        now = asyncio.get_running_loop().time()
        self.woken_at.append(round(now, 3))
        if len(self.woken_at) < self._times:
            self._alarms.set(self, now + self._every)


class Loop:
    """The event loop, with its timers counted."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.timers = 0
        self.alarms = Alarms(self._loop.time, self._later)

    def _later(self, seconds: float, then: object) -> Timer:
        self.timers += 1
        return self._loop.call_later(seconds, then)  # type: ignore[arg-type]  # handed on


@virtually
async def test_each_is_woken_once_at_its_time_whatever_the_order_they_were_set_in() -> None:
    loop = Loop()
    lanes = {at: Lane(loop.alarms) for at in (5.0, 1.0, 3.0, 1.5)}
    for at, lane in lanes.items():
        loop.alarms.set(lane, at)
    await asyncio.sleep(10)
    assert {at: lane.woken_at for at, lane in lanes.items()} == {at: [at] for at in lanes}
    assert {lane.wake_at for lane in lanes.values()} == {math.inf}


@virtually
async def test_what_is_set_last_counts() -> None:
    loop = Loop()
    sooner, later, never = (Lane(loop.alarms) for _ in range(3))
    for lane in (sooner, later, never):
        loop.alarms.set(lane, 5.0)
    loop.alarms.set(sooner, 2.0)
    loop.alarms.set(later, 8.0)
    loop.alarms.set(never, math.inf)
    await asyncio.sleep(10)
    assert (sooner.woken_at, later.woken_at, never.woken_at) == ([2.0], [8.0], [])


@virtually
async def test_one_set_again_and_again_for_the_same_time_is_woken_once() -> None:
    loop = Loop()
    lane = Lane(loop.alarms)
    for _ in range(3):
        loop.alarms.set(lane, 5.0)
        loop.alarms.set(lane, math.inf)
        loop.alarms.set(lane, 5.0)
    await asyncio.sleep(10)
    assert lane.woken_at == [5.0]


@virtually
async def test_one_that_is_woken_may_set_its_alarm_again() -> None:
    loop = Loop()
    lane = Lane(loop.alarms, every=0.5, times=4)
    loop.alarms.set(lane, 1.0)
    await asyncio.sleep(10)
    assert lane.woken_at == [1.0, 1.5, 2.0, 2.5]


@virtually
async def test_an_alarm_that_is_cancelled_takes_no_entry() -> None:
    alarms = Loop().alarms
    lane = Lane(alarms)
    alarms.set(lane, asyncio.get_running_loop().time() + 5)
    alarms.set(lane, math.inf)
    assert alarms.entries == 1  # that of the alarm that was set


@virtually
async def test_thousands_wait_for_one_timer() -> None:
    loop = Loop()
    lanes = [Lane(loop.alarms) for _ in range(5000)]
    for place, lane in enumerate(lanes):
        loop.alarms.set(lane, 1.0 + place % 10)
    assert loop.timers == 1
    await asyncio.sleep(20)
    assert loop.timers == 10
    assert all(lane.woken_at == [1.0 + place % 10] for place, lane in enumerate(lanes))


@virtually
async def test_what_nobody_waits_for_any_more_does_not_pile_up() -> None:
    loop = Loop()
    busy, patient = Lane(loop.alarms), Lane(loop.alarms)
    loop.alarms.set(patient, 3600.0)
    for number in range(10 * SPARE_ALARMS):
        loop.alarms.set(busy, 7200.0 + number % 7)
    assert loop.alarms.entries < 2 * SPARE_ALARMS
    await asyncio.sleep(8000)
    assert patient.woken_at == [3600.0]
    assert busy.woken_at == [7200.0 + (10 * SPARE_ALARMS - 1) % 7]


@virtually
async def test_outdated_alarms_are_removed_only_when_they_are_as_many_as_the_live_ones() -> None:
    loop = Loop()
    lanes = [Lane(loop.alarms) for _ in range(2 * SPARE_ALARMS)]
    for lane in lanes:
        loop.alarms.set(lane, 3600.0)
    for number in range(500):
        loop.alarms.set(lanes[0], 7200.0 + number)
    assert loop.alarms.entries == 2 * SPARE_ALARMS + 500  # to remove them takes a while


@virtually
async def test_an_alarm_that_is_set_again_for_the_same_time_takes_one_entry() -> None:
    alarms = Loop().alarms
    lane = Lane(alarms)
    for _ in range(3):
        alarms.set(lane, 5.0)
    assert alarms.entries == 1

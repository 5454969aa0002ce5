"""The dispatcher's clock follows the database's once, and goes steadily from there."""

import time

import pytest

from tarry.service.dispatch.clock import Clock, steady
from tarry.testing.samples import NOON


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

"""Each loop has its signal, and repeats its step whatever the database does."""

import asyncio
import logging

import pytest

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.dispatch.work import AGAIN, Signals, repeat

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# --- Signals ------------------------------------------------------------------------------------


def set_ones(signals: Signals) -> set[str]:
    return {name for name, signal in vars(signals).items() if signal.is_set()}


def test_at_first_none_is_set() -> None:
    assert set_ones(Signals()) == set()


def test_what_is_new_in_the_store_is_for_those_who_look_there() -> None:
    signals = Signals()
    signals.store_has_news()
    assert set_ones(signals) == {"upkeep", "load"}


# --- Steps --------------------------------------------------------------------------------------


class Steps:
    """Does what it is told, then lets the test go on."""

    def __init__(self, *errors: StoreError | None) -> None:
        self.errors = list(errors)
        self.done = asyncio.Event()

    async def one_step(self) -> None:
        error = self.errors.pop(0)
        if not self.errors:
            self.done.set()
            await asyncio.Event().wait()
        if error is not None:
            raise error


async def played(steps: Steps, every: float | None, signal: asyncio.Event | None = None) -> None:
    task = asyncio.create_task(repeat(steps.one_step, every, signal=signal, draw=lambda: 0.0))
    async with asyncio.timeout(120):
        await steps.done.wait()
    task.cancel()


async def test_a_step_is_done_again_after_a_while() -> None:
    await played(Steps(None, None, None), 0.001)


async def test_a_step_is_done_when_its_signal_is_set() -> None:
    signal, steps = asyncio.Event(), Steps(None, None)
    signal.set()
    await played(steps, None, signal)
    assert not signal.is_set()


async def test_a_bell_that_does_not_ring_is_waited_for_only_so_long() -> None:
    await played(Steps(None, None, None), 0.001, asyncio.Event())


async def test_what_the_database_did_not_let_be_done_is_tried_again_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    away = StoreUnavailable("down")
    with caplog.at_level(logging.WARNING):
        await played(Steps(away, away, away, None, None), 0.001)
    told = [record.getMessage() for record in caplog.records]
    assert told == [f"step one_step failed and is retried: {away}", "step one_step works again"]


async def test_anything_else_is_no_reason_to_wait() -> None:
    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await repeat(broken, 0.0, draw=lambda: 0.0)


def test_it_never_gives_up() -> None:
    assert AGAIN.attempts is None
    assert AGAIN.within is None


async def test_a_recovery_is_told_once_and_only_after_a_failure() -> None:
    steps = Steps(None, StoreUnavailable("away"), StoreUnavailable("away"), None, None, None)
    recoveries: list[int] = []

    def recovered() -> None:
        recoveries.append(len(steps.errors))

    task = asyncio.create_task(repeat(steps.one_step, 0.0, draw=lambda: 0.0, recovered=recovered))
    async with asyncio.timeout(120):
        await steps.done.wait()
    task.cancel()
    assert recoveries == [2]


async def test_a_step_that_failed_is_tried_again_without_its_signal() -> None:
    signal = asyncio.Event()
    await played(Steps(StoreUnavailable("away"), None), None, signal)


async def test_each_failure_in_a_row_makes_the_pause_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", noted)
    away = StoreUnavailable("away")
    steps = Steps(away, away, away, None, away, None)
    task = asyncio.create_task(repeat(steps.one_step, 7.0, draw=lambda: 1.0))
    await steps.done.wait()
    task.cancel()
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 7.0, 0.1])

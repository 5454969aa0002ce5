import asyncio
import copy
import gc
import json
import os
import pickle
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType

import pytest

import tarry
from tarry import Breaker, Fixed, Policy, Quota, Ratio
from tarry.call.shared import Guard
from tarry.call.world import world

pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)

QUICK = Policy(backoff=Fixed(0), attempts=2)


def in_child(work: Callable[[], object]) -> object:
    """What the work gives in a forked child; an error that is not caught there is one here."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover  coverage does not see the child
        answer = "the work raised"
        try:
            signal.alarm(20)
            answer = json.dumps(work())
        finally:
            os.write(writer, answer.encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    assert answer, "the child hung"
    return json.loads(answer)


class Held:
    """A guard's lock, held by another thread for as long as the block."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._go, self._has = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def _hold(self) -> None:
        with self._guard._lock:  # noqa: SLF001  as a step in the midst of it would
            self._has.set()
            self._go.wait(20)

    def __enter__(self) -> None:
        self._thread.start()
        self._has.wait(20)

    def __exit__(self, *_: object) -> None:
        self._go.set()
        self._thread.join()


def test_a_lock_held_at_the_fork_does_not_hold_up_the_child() -> None:
    quota, ratio, breaker = Quota(), Ratio(), Breaker(failures=1, rate=0.5, minimum=1)

    def work() -> list[object]:
        @tarry.retry(QUICK, on=ConnectionError, budget=quota, breaker=breaker)
        def fails() -> None:
            raise ConnectionError

        with suppress(ConnectionError):
            fails()
        ratio.call(world.clock())
        ratio.spend()
        quota.spend()
        return [breaker.phase, quota.tokens]

    with Held(quota), Held(ratio), Held(breaker):
        assert in_child(work) == ["open", 495.0]
    assert breaker.phase == "closed"
    assert quota.tokens == 500


def test_a_child_has_the_history_of_its_parent_and_its_own_from_then_on() -> None:
    quota, breaker = Quota(), Breaker(name="db")
    quota.spend()
    breaker.trip()

    def work() -> list[object]:
        quota.spend()
        before = breaker.phase
        breaker.reset()
        return [quota.tokens, before, breaker.phase]

    assert in_child(work) == [490.0, "open", "closed"]
    assert (quota.tokens, breaker.phase) == (495.0, "open")


def test_guards_that_are_gone_are_no_trouble_at_a_fork() -> None:
    for _ in range(100):
        Quota()
    assert in_child(lambda: "well") == "well"


@pytest.mark.parametrize(
    "guard", [Quota(name="mine"), Ratio(name="mine"), Breaker(name="mine")], ids=repr
)
def test_a_guard_can_be_referred_to_weakly_and_goes_when_it_is_dropped(guard: Guard) -> None:
    other = copy.copy(guard)
    reference = weakref.ref(other)
    assert reference() is other
    del other
    gc.collect()
    assert reference() is None


def copies(guard: Guard) -> Iterator[Guard]:
    yield copy.copy(guard)
    yield copy.deepcopy(guard)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(guard, protocol))  # noqa: S301  our own bytes


def test_a_copy_of_a_quota_has_the_rule_and_no_history() -> None:
    quota = Quota(50, 10, 2, name="mine")
    quota.spend()
    for other in copies(quota):
        assert isinstance(other, Quota)
        assert (other.name, other.rule, other.tokens) == ("mine", quota.rule, 50)


def test_a_copy_of_a_ratio_has_the_rule_and_no_history() -> None:
    ratio = Ratio(0.5, 3, 1, name="mine")
    ratio.spend()
    for other in copies(ratio):
        assert isinstance(other, Ratio)
        assert (other.name, other.rule) == ("mine", ratio.rule)
        other.spend()


def test_a_copy_of_a_breaker_has_the_rule_and_no_history() -> None:
    breaker = Breaker(
        2,
        7,
        rate=0.3,
        minimum=3,
        window=9,
        slow=2,
        slow_rate=0.4,
        growth=2,
        longest=70,
        jitter=0.2,
        probes=3,
        lease=5,
        on=ValueError,
        name="mine",
    )
    breaker.trip()
    for other in copies(breaker):
        assert isinstance(other, Breaker)
        assert (other.name, other.rule, other.phase) == ("mine", breaker.rule, "closed")
        for _ in range(2):
            with pytest.raises(OSError, match="no"), other.calling():
                raise OSError("no")  # not what its `on` names
        assert other.phase == "closed"


def forgotten(breaker: Breaker, quota: Quota) -> None:
    """Leave a coroutine behind that is inside a guarded call, for the collector to end."""

    @tarry.retry(QUICK, on=ConnectionError, breaker=breaker, budget=quota)
    async def waits() -> None:
        await asyncio.get_running_loop().create_future()

    async def main() -> asyncio.Task[None]:
        task = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        return task

    loop = asyncio.new_event_loop()
    task = loop.run_until_complete(main())
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001  it is meant
    task.itself = task  # type: ignore[attr-defined]  # only the collector can end it
    loop.close()


def test_the_collector_may_end_a_guarded_call_in_the_midst_of_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A draw is made inside the lock; there the collector comes along."""
    breaker, quota = Breaker(failures=1, jitter=0.5), Quota()
    gc.collect()
    gc.disable()
    try:
        forgotten(breaker, quota)
        collected: list[int] = []

        def draw() -> float:
            collected.append(gc.collect())
            return 0.0

        monkeypatch.setattr(world, "draw", draw)
        with pytest.raises(ConnectionError), breaker.calling():
            raise ConnectionError
        assert collected[0] > 0
        assert breaker.phase == "open"
    finally:
        gc.enable()


def test_a_signal_handler_may_make_a_guarded_call_in_the_midst_of_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A draw is made inside the lock; there the signal comes in."""
    breaker, let_through = Breaker(failures=2), list[int]()

    def handler(_: int, __: FrameType | None) -> None:
        let_through.append(1)
        with pytest.raises(ConnectionError), breaker.calling():
            raise ConnectionError

    def draw() -> float:
        os.kill(os.getpid(), signal.SIGUSR1)
        return 0.0

    monkeypatch.setattr(world, "draw", draw)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        breaker.trip()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert let_through == [1]
    assert breaker.phase == "open"

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
from typing import Any

import pytest

import tarry
from tarry import Breaker, Fixed, Policy, Quota, Ratio
from tarry.call.shared import Guard
from tarry.call.world import world
from tarry.core import breaker as core
from tarry.core.breaker import FAILED, PASSED
from tarry.core.budget import QuotaRule, RatioRule
from tarry.observe import BreakerMoved, Event

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

    def __init__(self, guard: Guard[Any]) -> None:
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
def test_a_guard_can_be_referred_to_weakly_and_goes_when_it_is_dropped(guard: Guard[Any]) -> None:
    other = copy.copy(guard)
    reference = weakref.ref(other)
    assert reference() is other
    del other
    gc.collect()
    assert reference() is None


def copies(guard: Guard[Any]) -> Iterator[Guard[Any]]:
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


class MyQuota(Quota):
    """A quota of one's own."""


class MyRatio(Ratio):
    """A ratio of one's own."""


class MyBreaker(Breaker):
    """A breaker of one's own."""


@pytest.mark.parametrize("kind", [MyQuota, MyRatio, MyBreaker])
def test_a_copy_is_of_the_same_kind(kind: Callable[..., Guard[Any]]) -> None:
    for other in copies(kind(name="mine")):
        assert type(other) is kind
        assert other.name == "mine"


# In the midst of a step


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
        if not let_through:
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


@pytest.fixture
def amid(monkeypatch: pytest.MonkeyPatch) -> Callable[[object, str, Callable[[], object]], None]:
    """Have something done once inside a step, when its answer is known and not yet in place."""

    def arrange(owner: object, name: str, meanwhile: Callable[[], object]) -> None:
        step, to_do = getattr(owner, name), [meanwhile]

        def interrupted(*args: object, **named: object) -> object:
            answer = step(*args, **named)
            if to_do:
                to_do.pop()()
            return answer

        monkeypatch.setattr(owner, name, interrupted)

    return arrange


Amid = Callable[[object, str, Callable[[], object]], None]


def test_two_probes_get_two_tickets_though_one_asks_amid_the_other(
    amid: Amid, push: Callable[[float], None]
) -> None:
    breaker, tickets = Breaker(open_for=10, jitter=0, probes=3), list[int]()
    breaker.trip()
    push(10)
    amid(core, "admit", lambda: tickets.append(breaker.enter()))
    tickets.append(breaker.enter())
    assert len(set(tickets)) == 2
    for ticket in tickets:
        breaker.leave(ticket, PASSED, 0)
    assert breaker.phase == "closed"


def test_a_failure_reported_amid_another_is_not_lost(amid: Amid) -> None:
    breaker = Breaker(failures=3)
    ticket = breaker.enter()
    amid(core, "record", lambda: breaker.leave(ticket, FAILED, 0))
    breaker.leave(ticket, FAILED, 0)
    assert breaker.phase == "closed"
    breaker.leave(ticket, FAILED, 0)
    assert breaker.phase == "open"


@pytest.mark.usefixtures("still_time")
@pytest.mark.parametrize("verdict", [PASSED, FAILED])
def test_what_is_reported_while_the_passed_calls_are_counted_is_not_lost(
    amid: Amid, verdict: core.Verdict
) -> None:
    breaker = Breaker(failures=None, rate=0.01, minimum=6)
    ticket, now = breaker.enter(), world.clock()
    for _ in range(3):
        breaker.leave(ticket, PASSED, now)
    amid(core, "succeed", lambda: breaker.leave(ticket, verdict, now))
    breaker.leave(ticket, FAILED, now)
    assert breaker.phase == "closed"
    breaker.leave(ticket, FAILED, now)
    assert breaker.phase == "open"  # at the sixth call, not one more or less


def test_a_breaker_opened_while_a_slice_begins_does_not_count_the_call_that_began_it(
    amid: Amid, push: Callable[[float], None]
) -> None:
    breaker = Breaker(failures=None, rate=0.9, minimum=2)
    ticket = breaker.enter()
    breaker.leave(ticket, PASSED, world.clock())
    push(5)

    def restart() -> None:
        breaker.trip()
        breaker.reset()

    amid(core, "succeed", restart)
    breaker.leave(ticket, PASSED, world.clock())
    fresh = breaker.enter()
    breaker.leave(fresh, FAILED, world.clock())
    breaker.leave(fresh, FAILED, world.clock())
    assert breaker.phase == "open"  # 2 of 2


def test_moves_made_amid_another_are_all_told_in_order(amid: Amid, events: list[Event]) -> None:
    breaker = Breaker()
    amid(core, "closed", breaker.trip)
    breaker.reset()
    assert breaker.phase == "closed"
    amid(core, "opened", breaker.trip)
    breaker.trip()
    moves = [(move.before, move.after) for move in events if isinstance(move, BreakerMoved)]
    assert moves == [("closed", "open"), ("open", "closed"), ("closed", "open")]


def test_tokens_taken_or_paid_back_amid_a_step_are_not_lost(amid: Amid) -> None:
    quota = Quota(10, 5, 1)
    amid(QuotaRule, "spend", quota.spend)
    quota.spend()
    assert quota.tokens == 0
    amid(QuotaRule, "succeed", lambda: quota.succeed(retried=False))
    quota.succeed(retried=True)
    assert quota.tokens == 6


def test_the_last_retry_goes_to_one_of_two_that_ask_amid_each_other(amid: Amid) -> None:
    quota, ratio, granted = Quota(5, 5), Ratio(0, 10, 1), list[bool]()
    amid(QuotaRule, "spend", lambda: granted.append(quota.take(0)))
    assert not quota.take(0)
    amid(RatioRule, "spend", lambda: granted.append(ratio.take(0)))
    assert not ratio.take(0)
    assert granted == [True, True]


@pytest.mark.parametrize("later", [0.0, 1.0])
def test_calls_counted_amid_a_count_are_not_lost(amid: Amid, later: float) -> None:
    ratio = Ratio(1, 10, 0)
    for _ in range(3):
        ratio.call(1)
    amid(RatioRule, "call", lambda: ratio.call(1 + later))
    ratio.call(1 + later) if later else ratio.take(1)
    granted = sum(ratio.take(1 + later) for _ in range(9))
    assert granted == (5 if later else 3)  # four calls, one of their retries made above

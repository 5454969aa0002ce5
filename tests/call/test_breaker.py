import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry import (
    AttemptTimedOut,
    Breaker,
    CircuitOpen,
    DecorationError,
    Failure,
    Fixed,
    Kind,
    Policy,
    PolicyError,
)
from tarry.call.world import world
from tarry.core import breaker as core
from tarry.core.breaker import IGNORED, PASSED, BreakerState, Phase, Verdict
from tarry.observe import BreakerMoved, Event, listen

QUICK = Policy(backoff=Fixed(0), attempts=2)
ONCE = Policy(attempts=1)


@pytest.fixture
def hectic() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def fail() -> None:
    raise ConnectionError


def failed(breaker: Breaker, times: int = 1) -> Breaker:
    for _ in range(times):
        with pytest.raises(ConnectionError), breaker.calling():
            fail()
    return breaker


def passed(breaker: Breaker, times: int = 1) -> Breaker:
    for _ in range(times):
        with breaker.calling():
            pass
    return breaker


# Alone


def test_a_breaker_shows_its_name_and_phase() -> None:
    assert repr(Breaker(name="db")) == "<Breaker 'db': closed>"
    assert repr(failed(Breaker(failures=1, name="db"))) == "<Breaker 'db': open>"


def test_the_settings_are_the_rules() -> None:
    rule = Breaker().rule
    assert (rule.failures, rule.open_for, rule.rate, rule.minimum) == (5, 30.0, None, 20)
    assert (rule.window, rule.slow, rule.slow_rate, rule.growth) == (10.0, None, 0.5, 1.0)
    assert (rule.longest, rule.jitter, rule.probes, rule.lease) == (300.0, 0.1, 1, 30.0)
    with pytest.raises(PolicyError, match=r"'breaker\.failures' is 0"):
        Breaker(failures=0)
    with pytest.raises(PolicyError, match="'on' is"):
        Breaker(on=KeyboardInterrupt)  # type: ignore[arg-type]


def test_the_defaults_are_those_of_the_rule() -> None:
    assert Breaker().rule == core.BreakerRule()


def test_a_block_that_fails_too_often_opens_the_circuit(push: Callable[[float], None]) -> None:
    breaker = failed(Breaker(failures=3, open_for=10, jitter=0, name="db"), 2)
    assert (breaker.phase, breaker.retry_at) == (Phase.CLOSED, None)
    failed(breaker)
    assert (breaker.phase, breaker.retry_at) == (Phase.OPEN, 1_010)
    push(4)
    with pytest.raises(CircuitOpen) as caught, breaker.calling():
        raise AssertionError
    error = caught.value
    assert (error.name, error.retry_at, error.retry_in) == ("db", 1_010, 6)
    assert str(error) == "circuit 'db' is open; try again in 6 s"
    push(6)
    passed(breaker)
    assert (breaker.phase, breaker.retry_at) == (Phase.CLOSED, None)


def test_a_decorated_function_raises_its_own_errors_with_no_note(
    push: Callable[[float], None],
) -> None:
    breaker = Breaker(failures=1, open_for=10)
    with pytest.raises(ConnectionError) as caught:
        breaker(fail)()
    assert not hasattr(caught.value, "__notes__")
    with pytest.raises(CircuitOpen):
        breaker(fail)()
    push(10)
    assert breaker(lambda: 5)() == 5
    assert breaker.phase == "closed"


def test_every_kind_of_function_can_be_guarded() -> None:
    breaker, nothing = Breaker(failures=4), ""

    @breaker
    async def awaited() -> None:
        raise ConnectionError

    @breaker
    def items() -> Iterator[int]:
        yield 1 // len(nothing)

    @breaker
    async def async_items() -> AsyncIterator[int]:
        yield 1 // len(nothing)

    async def main() -> None:
        with pytest.raises(ConnectionError):
            await awaited()
        with pytest.raises(ZeroDivisionError):
            await anext(async_items())

    asyncio.run(main())
    with pytest.raises(ZeroDivisionError):
        next(items())
    assert breaker.phase == "closed"
    with pytest.raises(ConnectionError):
        breaker(fail)()
    assert breaker.phase == "open"
    with pytest.raises(CircuitOpen):
        asyncio.run(awaited())
    with pytest.raises(CircuitOpen):
        next(items())
    with pytest.raises(DecorationError):
        breaker(Breaker)


def test_on_says_what_a_failure_is_when_a_breaker_stands_alone() -> None:
    breaker = Breaker(failures=1, on=(TimeoutError, lambda error: "down" in str(error)))
    for error in (KeyError(), ConnectionError("busy")):
        with pytest.raises(type(error)), breaker.calling():
            raise error
    assert breaker.phase == "closed"
    with pytest.raises(ConnectionError), breaker.calling():
        raise ConnectionError("down")
    assert breaker.phase == "open"


def test_a_final_answer_in_a_block_says_nothing_against_who_gave_it() -> None:
    breaker = Breaker(failures=1, on=lambda _: Failure(Kind.PERMANENT))
    failed(breaker, 5)
    assert breaker.phase == "closed"


def test_who_retries_says_what_a_failure_is_and_not_the_breaker() -> None:
    breaker = Breaker(failures=1, on=KeyError)
    with pytest.raises(ConnectionError):
        tarry.retry(ONCE, on=ConnectionError, breaker=breaker)(fail)()
    assert breaker.phase == "open"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_the_program_counts_for_nothing(kind: type[BaseException]) -> None:
    breaker = Breaker(failures=1)
    with pytest.raises(kind), breaker.calling():
        raise kind

    @breaker
    def ends() -> None:
        raise kind

    with pytest.raises(kind):
        ends()
    assert breaker.phase == "closed"


def test_a_block_whose_predicate_raises_gives_its_probe_back(push: Callable[[float], None]) -> None:
    def broken(_: Exception) -> bool:
        raise ZeroDivisionError

    breaker = Breaker(open_for=10, on=broken)
    breaker.trip()
    push(10)
    with pytest.raises(ZeroDivisionError), breaker.calling():
        fail()
    assert breaker.phase == "half-open"
    passed(breaker)
    assert breaker.phase == "closed"


def test_a_breaker_inside_its_own_block_is_two_calls() -> None:
    breaker = Breaker(failures=2)
    with pytest.raises(ConnectionError), breaker.calling(), breaker.calling():
        fail()
    assert breaker.phase == "open"


def test_a_guarded_function_may_call_itself() -> None:
    breaker = Breaker(failures=3, rate=0.9, minimum=9)

    @breaker
    def dig(depth: int) -> int:
        return depth and dig(depth - 1)

    assert dig(50) == 0


# By hand


def test_a_circuit_can_be_opened_and_closed_by_hand(events: list[Event]) -> None:
    breaker = Breaker(name="db")
    breaker.trip()
    with pytest.raises(CircuitOpen):
        breaker.enter()
    breaker.reset()
    passed(breaker)
    retry_at = events[0].retry_at if isinstance(events[0], BreakerMoved) else None
    assert events == [
        BreakerMoved("db", Phase.CLOSED, Phase.OPEN, retry_at),
        BreakerMoved("db", Phase.OPEN, Phase.CLOSED, None),
    ]


def test_opening_what_is_open_changes_nothing(push: Callable[[float], None]) -> None:
    breaker = Breaker(open_for=10, jitter=0, growth=2)
    breaker.trip()
    push(3)
    breaker.trip()
    assert breaker.retry_at == 1_010


def test_a_half_open_circuit_can_be_opened_by_hand(push: Callable[[float], None]) -> None:
    breaker = Breaker(open_for=10, jitter=0, growth=2)
    breaker.trip()
    push(10)
    ticket = breaker.enter()
    breaker.trip()
    assert breaker.retry_at == 1_030
    breaker.leave(ticket, PASSED, 1_010)  # the probe's word comes too late
    assert breaker.phase == "open"


def test_closing_by_hand_forgets_the_failures() -> None:
    breaker = failed(Breaker(failures=3, rate=0.5, minimum=6), 2)
    breaker.reset()
    failed(breaker, 2)
    assert breaker.phase == "closed"
    passed(breaker, 3)
    breaker.reset()
    failed(passed(failed(breaker, 2), 1), 2)
    assert breaker.phase == "closed"  # 4 of 5; with those before it would be 6 of 11 and more
    failed(breaker)
    assert breaker.phase == "open"


def test_tickets_from_before_a_reset_are_stale() -> None:
    breaker = Breaker(failures=1)
    ticket = breaker.enter()
    breaker.reset()
    breaker.leave(ticket, core.FAILED, 0)
    assert breaker.phase == "closed"


def test_calls_that_passed_before_it_was_opened_by_hand_do_not_count_after_it(
    push: Callable[[float], None],
) -> None:
    breaker = passed(Breaker(failures=None, rate=0.5, minimum=2, open_for=1, jitter=0), 50)
    breaker.trip()
    push(1)
    passed(breaker)
    failed(passed(breaker), 1)
    assert breaker.phase == "open"  # 1 of 2: the fifty are forgotten


# What is told


def test_moves_are_told_to_listeners_and_to_the_hooks_of_the_call(
    events: list[Event], push: Callable[[float], None]
) -> None:
    heard: list[Event] = []
    breaker = Breaker(failures=1, open_for=10, jitter=0, name="db")
    answers: list[Exception] = [ConnectionError(), ConnectionError()]

    @tarry.retry(ONCE, on=ConnectionError, breaker=breaker, hooks=heard.append)
    def works() -> None:
        if answers:
            raise answers.pop()

    with pytest.raises(ConnectionError):
        works()
    push(10)
    with pytest.raises(ConnectionError):
        works()
    push(10)
    works()
    moves = [
        BreakerMoved("db", Phase.CLOSED, Phase.OPEN, 1_010.0),
        BreakerMoved("db", Phase.OPEN, Phase.HALF_OPEN, 1_020.0),
        BreakerMoved("db", Phase.HALF_OPEN, Phase.OPEN, 1_020.0),
        BreakerMoved("db", Phase.OPEN, Phase.HALF_OPEN, 1_030.0),
        BreakerMoved("db", Phase.HALF_OPEN, Phase.CLOSED, None),
    ]
    assert [event for event in heard if isinstance(event, BreakerMoved)] == moves
    assert [event for event in events if isinstance(event, BreakerMoved)] == moves


def test_a_listener_may_use_the_breaker_it_hears_of() -> None:
    """It is told outside the lock."""
    seen: list[Phase] = []
    breaker = Breaker(failures=1)
    stop = listen(lambda _: seen.append(passed(breaker).phase))
    try:
        breaker.trip()
        breaker.reset()
    except CircuitOpen:
        seen.append(breaker.phase)
    finally:
        stop()
    assert seen[-1] is Phase.CLOSED


# The same as the pure steps


class Twins:
    """A breaker, and beside it the pure steps on a state of their own."""

    def __init__(self, breaker: Breaker) -> None:
        self.now = 100.0
        self._breaker = breaker
        self._rule = breaker.rule
        self._state = BreakerState()
        self._held: list[int] = []

    def push(self, seconds: float) -> None:
        self.now += seconds

    def enter(self) -> None:
        self._state, ticket = core.admit(self._rule, self._state, self.now)
        if ticket is not None:
            assert self._breaker.enter() == ticket
            self._held.append(ticket)
            return
        with pytest.raises(CircuitOpen) as caught:
            self._breaker.enter()
        assert caught.value.retry_at == core.retry_at(self._rule, self._state)

    def leave(self, which: int, verdict: Verdict, took: float) -> None:
        if not self._held:
            return
        ticket, now = self._held.pop(which % len(self._held)), self.now
        self._breaker.leave(ticket, verdict, now - took)
        self._state = core.record(
            self._rule, self._state, ticket, verdict, took=took, now=now, draw=world.draw
        )

    def trip(self) -> None:
        self._breaker.trip()
        if self._state.phase is not Phase.OPEN:
            self._state = core.opened(self._rule, self._state, now=self.now, draw=0.5)

    def reset(self) -> None:
        self._breaker.reset()
        self._state = core.closed(self._state)

    def compare(self) -> None:
        assert self._breaker.phase is self._state.phase
        if self._state.phase is not Phase.CLOSED:
            assert self._breaker.retry_at == core.retry_at(self._rule, self._state)


steps = st.one_of(
    st.builds(lambda seconds: lambda twins: twins.push(seconds), st.floats(0, 4) | st.just(20.0)),
    st.just(Twins.enter),
    st.builds(
        lambda *said: lambda twins: twins.leave(*said),
        st.integers(0, 99),
        st.sampled_from(Verdict),
        st.sampled_from([0.5, 1.5]),
    ),
    st.sampled_from([Twins.trip, Twins.reset]),
)
breakers = st.builds(
    Breaker,
    st.integers(1, 4),
    st.just(10),
    rate=st.none() | st.sampled_from([0.3, 0.5]),
    slow=st.none() | st.just(1.0),
    minimum=st.just(4),
    window=st.just(5),
    probes=st.integers(1, 3),
    lease=st.just(7),
)


@given(breakers, st.lists(steps, max_size=80))
def test_a_breaker_does_what_the_pure_steps_say(
    breaker: Breaker, life: list[Callable[[Twins], None]]
) -> None:
    """Though it counts what passes aside, and takes no lock while all is well."""
    twins = Twins(breaker)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "clock", lambda: twins.now)
        patch.setattr(world, "draw", lambda: 0.5)
        for step in life:
            step(twins)
            twins.compare()


# Many at once


def let_through(breaker: Breaker, callers: int) -> tuple[int, int]:
    """How many of so many threads that call at once are let through, and how many refused."""
    ready, everybody = threading.Barrier(callers), threading.Barrier(callers)

    def call() -> bool:
        ready.wait(20)
        try:
            with breaker.calling():
                everybody.wait(20)  # nobody reports before all have asked
        except CircuitOpen:
            everybody.wait(20)
            return False
        return True

    with ThreadPoolExecutor(callers) as pool:
        answers = [done.result() for done in [pool.submit(call) for _ in range(callers)]]
    return answers.count(True), answers.count(False)


@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("probes", [1, 3, 10])
def test_of_64_threads_as_many_get_through_as_probes_are_leased(
    probes: int, push: Callable[[float], None]
) -> None:
    breaker = Breaker(open_for=10, jitter=0, probes=probes)
    for _ in range(5):
        breaker.trip()
        push(10)
        assert let_through(breaker, 64) == (probes, 64 - probes)
        assert breaker.phase == "closed"
        assert let_through(breaker, 64) == (64, 0)


@pytest.mark.anyio
@pytest.mark.parametrize("probes", [1, 7])
async def test_of_1000_tasks_as_many_get_through_as_probes_are_leased(
    probes: int, push: Callable[[float], None]
) -> None:
    breaker = Breaker(open_for=10, jitter=0, probes=probes)
    breaker.trip()
    push(10)
    answers: list[bool] = []
    all_asked = anyio.Event()

    @tarry.retry(QUICK, on=ConnectionError, breaker=breaker)
    async def works() -> None:
        await all_asked.wait()

    async def call() -> None:
        try:
            await works()
        except CircuitOpen:
            answers.append(False)
        else:
            answers.append(True)

    async with anyio.create_task_group() as group:
        for _ in range(1_000):
            group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        assert len(answers) == 1_000 - probes
        all_asked.set()
    assert answers.count(True) == probes
    assert breaker.phase == "closed"


@pytest.mark.usefixtures("hectic", "still_time")
def test_64_threads_lose_no_report() -> None:
    """It opens on a share of as many calls as there were, and one: not one is lost or made up."""
    calls = 64 * 50
    breaker = Breaker(failures=None, rate=0.0001, minimum=calls + 1)

    def work(number: int) -> None:
        for call in range(50):
            if (number + call) % 10 == 0:
                failed(breaker)
            else:
                passed(breaker)

    with ThreadPoolExecutor(64) as pool:
        for done in [pool.submit(work, number) for number in range(64)]:
            done.result()
    assert breaker.phase == "closed"
    failed(breaker)
    assert breaker.phase == "open"


@pytest.mark.anyio
@pytest.mark.usefixtures("still_time")
async def test_1000_tasks_lose_no_report() -> None:
    breaker = Breaker(failures=None, rate=0.0001, minimum=2_001)

    @tarry.retry(QUICK, on=ConnectionError, breaker=breaker)
    async def works(tries: list[int]) -> None:
        await anyio.lowlevel.checkpoint()
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError

    async with anyio.create_task_group() as group:
        for _ in range(1_000):
            group.start_soon(works, [])
    assert breaker.phase == "closed"
    failed(breaker)
    assert breaker.phase == "open"


@pytest.mark.usefixtures("hectic")
def test_a_circuit_opens_once_however_many_fail_at_the_same_time(events: list[Event]) -> None:
    breaker = Breaker(failures=1, name="db")
    inside = threading.Barrier(32)

    def call() -> None:
        with breaker.calling():
            inside.wait(20)
            raise ConnectionError

    with ThreadPoolExecutor(32) as pool:
        errors = [done.exception() for done in [pool.submit(call) for _ in range(32)]]
    assert all(isinstance(error, ConnectionError) for error in errors)
    moves = [event for event in events if isinstance(event, BreakerMoved)]
    assert [(move.before, move.after) for move in moves] == [(Phase.CLOSED, Phase.OPEN)]


@pytest.mark.anyio
async def test_a_probe_that_is_cancelled_or_cut_off_does_not_wedge_the_circuit(
    push: Callable[[float], None],
) -> None:
    breaker = Breaker(open_for=10, jitter=0)
    breaker.trip()
    push(10)

    @tarry.retry(ONCE, on=ConnectionError, breaker=breaker)
    async def hangs() -> None:
        await anyio.sleep_forever()

    with anyio.move_on_after(0.01):
        await hangs()
    assert breaker.phase == "half-open"
    cut = tarry.retry(ONCE.replace(attempt_timeout=0.01), on=ConnectionError, breaker=breaker)
    with pytest.raises(AttemptTimedOut):
        await cut(anyio.sleep_forever)()
    assert breaker.phase == "open"  # that it took too long says something
    push(10)
    ticket = breaker.enter()
    breaker.leave(ticket, IGNORED, 0)
    passed(breaker)
    assert breaker.phase == "closed"


def test_a_probe_that_is_lost_is_replaced_when_its_lease_is_over(
    push: Callable[[float], None],
) -> None:
    breaker = Breaker(open_for=10, jitter=0, lease=5)
    breaker.trip()
    push(10)
    lost = breaker.enter()
    push(4.999)
    with pytest.raises(CircuitOpen) as caught:
        breaker.enter()
    assert caught.value.retry_in == pytest.approx(0.001)
    push(0.001)
    assert breaker.enter() != lost

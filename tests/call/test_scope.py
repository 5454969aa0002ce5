import contextvars
import math
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio.lowlevel
import anyio.to_thread
import pytest

import tarry
from tarry import Fixed, NoJitter, Policy, Why
from tarry.call.scope import (
    ATTEMPT,
    DISABLED,
    ENDED,
    ONCE,
    Scope,
    attempt_number,
    called_by,
    current,
    disabled,
    hindrance,
    inherited_deadline,
    inside,
)
from tarry.call.world import world


@types.coroutine
def suspension() -> Iterator[None]:
    """Something to await that does not come back by itself, without any event loop."""
    yield


QUICK = Policy(backoff=Fixed(0), jitter=NoJitter(), attempts=3, within=None)
NESTED = QUICK.replace(nested=True)


@pytest.fixture
def turned_off() -> Iterator[None]:
    tarry.disabled.everywhere = True
    yield
    tarry.disabled.everywhere = False


def counted(policy: Policy = QUICK) -> tuple[Callable[[], None], list[int]]:
    """A function that always fails, and the number in the scope at each of its attempts."""
    made: list[int] = []

    @tarry.retry(policy, on=ConnectionError)
    def fails() -> None:
        made.append(attempt_number())
        raise ConnectionError

    return fails, made


@pytest.mark.parametrize(
    ("outer", "nested", "why"),
    [
        (None, False, None),
        ([5.0, 1], False, Why.NESTED),
        ([5.0, 7], False, Why.NESTED),
        ([5.0, 1], True, None),
        ([5.0, ENDED], False, None),
        ([5.0, ONCE], False, None),
        ([5.0, ONCE], True, None),
        ([5.0, DISABLED], False, Why.DISABLED),
        ([5.0, DISABLED], True, Why.DISABLED),
    ],
)
def test_who_may_not_retry_inside_whom(
    outer: Scope | None, *, nested: bool, why: Why | None
) -> None:
    assert hindrance(outer, nested=nested) is why


@pytest.mark.usefixtures("turned_off")
@pytest.mark.parametrize("outer", [None, [5.0, 1], [5.0, ENDED], [5.0, DISABLED]])
def test_when_retrying_is_turned_off_everywhere_nobody_may(outer: Scope | None) -> None:
    assert hindrance(outer, nested=False) is Why.DISABLED
    assert hindrance(outer, nested=True) is Why.DISABLED


@pytest.mark.parametrize(
    ("outer", "first", "nested", "scope"),
    [
        (None, 1, False, [9.0, 1]),
        ([5.0, ENDED], 1, False, [9.0, 1]),
        ([5.0, 3], 1, False, [5.0, 3]),
        ([50.0, 3], 1, False, [9.0, 3]),
        ([5.0, 3], 1, True, [5.0, 1]),
        ([5.0, ONCE], 1, False, [5.0, 1]),
        ([5.0, DISABLED], 1, True, [5.0, DISABLED]),
        ([5.0, 3], ONCE, False, [5.0, 3]),
        ([5.0, 3], ONCE, True, [5.0, 3]),
        ([5.0, ONCE], ONCE, False, [5.0, ONCE]),
    ],
)
def test_a_scope_inside_another_has_the_earlier_end_and_passes_the_retry_around_on(
    outer: Scope | None, first: int, *, nested: bool, scope: Scope
) -> None:
    assert inside(outer, 9.0, first, nested=nested) == scope


def test_an_end_is_inherited_from_a_scope_at_work_only() -> None:
    assert inherited_deadline(None) == math.inf
    assert inherited_deadline([5.0, ENDED]) == math.inf
    assert inherited_deadline([5.0, ONCE]) == 5.0
    assert inherited_deadline([5.0, 1]) == 5.0


# The nesting guard


def test_a_retry_inside_a_retry_makes_one_attempt() -> None:
    inner, made = counted()
    with pytest.raises(ConnectionError):
        tarry.retry(QUICK, on=ConnectionError)(inner)()
    assert made == [1, 2, 3]


def test_a_retry_that_opts_in_retries_inside_a_retry() -> None:
    inner, made = counted(NESTED)
    with pytest.raises(ConnectionError):
        tarry.retry(QUICK, on=ConnectionError)(inner)()
    assert made == [1, 2, 3] * 3


def test_however_deep_it_is_the_outermost_retry_that_retries() -> None:
    function, made = counted()
    for _ in range(5):
        function = tarry.retry(QUICK, on=ConnectionError)(function)
    with pytest.raises(ConnectionError):
        function()
    assert made == [1, 2, 3]


def test_a_single_attempt_in_between_hides_no_retry_around() -> None:
    for nested in (False, True):
        inner, made = counted()
        middle = tarry.retry(QUICK.replace(attempts=1, nested=nested), on=ConnectionError)(inner)
        with pytest.raises(ConnectionError):
            tarry.retry(QUICK, on=ConnectionError)(middle)()
        assert made == [1, 2, 3]


def test_a_single_attempt_around_keeps_nobody_from_retrying() -> None:
    inner, made = counted()
    with pytest.raises(ConnectionError):
        tarry.retry(QUICK.replace(attempts=1), on=ConnectionError)(inner)()
    assert made == [1, 2, 3]


def test_a_breaker_around_keeps_nobody_from_retrying() -> None:
    inner, made = counted()
    with pytest.raises(ConnectionError):
        tarry.Breaker()(inner)()
    assert made == [1, 2, 3]


def test_a_retry_without_a_scope_lets_others_retry_on_top() -> None:
    inner, made = counted()
    with pytest.raises(ConnectionError):
        tarry.retry(QUICK, on=ConnectionError, scoped=False)(inner)()
    assert made == [1, 2, 3] * 3


def test_a_function_that_calls_itself_is_retried_at_the_top() -> None:
    made: list[int] = []

    @tarry.retry(QUICK, on=ConnectionError)
    def dig(depth: int) -> None:
        made.append(depth)
        if depth == 0:
            raise ConnectionError
        dig(depth - 1)

    with pytest.raises(ConnectionError) as caught:
        dig(2)
    assert made == [2, 1, 0] * 3
    assert len(caught.value.__notes__) == 1


def test_a_thread_of_its_own_has_no_retry_around() -> None:
    """Unless it is given the context: then the retry that started it is around it."""
    inner, made = counted()

    @tarry.retry(QUICK.replace(attempts=2), on=RuntimeError)
    def starts_threads() -> None:
        made.clear()
        with ThreadPoolExecutor(1) as pool:
            bare = contextvars.Context()
            assert isinstance(pool.submit(bare.run, inner).exception(), ConnectionError)
            assert made == [1, 2, 3]
            made.clear()
            mine = contextvars.copy_context()
            assert isinstance(pool.submit(mine.run, inner).exception(), ConnectionError)
            assert made == [1]

    starts_threads()


@pytest.mark.anyio
async def test_a_thread_a_task_waits_for_has_the_retry_around_it() -> None:
    inner, made = counted()

    @tarry.retry(QUICK.replace(attempts=2), on=ConnectionError)
    async def starts_a_thread() -> None:
        await anyio.to_thread.run_sync(inner)

    with pytest.raises(ConnectionError):
        await starts_a_thread()
    assert made == [1, 2]


@pytest.mark.anyio
async def test_tasks_side_by_side_do_not_see_each_others_scopes() -> None:
    seen: dict[int, list[int]] = {number: [] for number in range(20)}

    @tarry.retry(QUICK, on=ConnectionError)
    async def works(number: int) -> None:
        seen[number].append(attempt_number())
        await anyio.lowlevel.checkpoint()
        assert attempt_number() == len(seen[number])
        if len(seen[number]) < 1 + number % 3:
            raise ConnectionError

    async with anyio.create_task_group() as group:
        for number in seen:
            group.start_soon(works, number)
    assert [len(made) for made in seen.values()] == [1 + number % 3 for number in seen]
    assert attempt_number() == 0


@pytest.mark.anyio
async def test_a_task_that_outlives_the_call_that_started_it_may_retry() -> None:
    inner, made = counted()
    over, seen = anyio.Event(), list[float | None]()

    async def background() -> None:
        await over.wait()
        seen.append(tarry.remaining())
        with pytest.raises(ConnectionError):
            inner()

    async with anyio.create_task_group() as group:

        @tarry.retry(QUICK.replace(within=30), on=ConnectionError)
        async def starts_a_task() -> None:
            group.start_soon(background)

        await starts_a_task()
        over.set()
    assert made == [1, 2, 3]
    assert seen == [None]


@pytest.mark.anyio
async def test_a_call_may_outlive_the_retry_around_it_and_then_retries() -> None:
    """Hindered at its first failure or not: what counts is how things stand when it fails."""
    over, made = anyio.Event(), list[int]()

    @tarry.retry(QUICK, on=ConnectionError)
    async def works_on() -> None:
        made.append(attempt_number())
        await over.wait()
        raise ConnectionError

    async def background() -> None:
        with pytest.raises(ConnectionError):
            await works_on()

    async with anyio.create_task_group() as group:

        @tarry.retry(QUICK, on=ConnectionError)
        async def starts_a_task() -> None:
            group.start_soon(background)
            await anyio.sleep(0.01)

        await starts_a_task()
        over.set()
    assert made == [1, 2, 3]


# Time that is inherited


def test_outside_of_any_call_there_is_no_limit() -> None:
    assert tarry.remaining() is None
    assert attempt_number() == 0


@pytest.mark.usefixtures("still_time")
def test_what_remains_shrinks_and_is_the_least_of_all_around(push: Callable[[float], None]) -> None:
    seen: list[float | None] = []

    def look() -> None:
        seen.append(tarry.remaining())
        push(2)
        seen.append(tarry.remaining())

    def within(seconds: float | None, function: Callable[[], None]) -> Callable[[], None]:
        return tarry.retry(QUICK.replace(within=seconds), on=ConnectionError)(function)

    within(10, look)()
    within(None, look)()
    within(10, within(30, look))()
    within(30, within(10, look))()
    within(None, within(10, look))()
    within(1, look)()
    assert seen == [10, 8, None, None, 10, 8, 10, 8, 10, 8, 1, 0]
    assert tarry.remaining() is None


@pytest.mark.usefixtures("still_time")
def test_one_attempt_has_its_limit_too_and_passes_it_on() -> None:
    seen: list[float | None] = []

    @tarry.retry(QUICK.replace(within=20), on=ConnectionError)
    def inner() -> None:
        seen.append(tarry.remaining())

    @tarry.retry(QUICK.replace(within=5, attempts=1), on=ConnectionError)
    def outer() -> None:
        seen.append(tarry.remaining())
        inner()

    outer()
    assert seen == [5, 5]


def test_no_wait_is_begun_that_ends_after_the_inherited_end(slept: list[float]) -> None:
    made: list[float] = []

    @tarry.retry(
        Policy(backoff=Fixed(4), jitter=NoJitter(), nested=True, within=100), on=ConnectionError
    )
    def inner() -> None:
        made.append(world.clock())
        raise ConnectionError

    @tarry.retry(QUICK.replace(within=10, attempts=2), on=ValueError)
    def outer() -> None:
        inner()

    with pytest.raises(ConnectionError):
        outer()
    assert slept == [4, 4]
    assert made == [1_000, 1_004, 1_008]


@pytest.mark.usefixtures("still_time")
def test_a_thread_given_the_context_inherits_the_time_left(push: Callable[[float], None]) -> None:
    seen: list[float | None] = []

    @tarry.retry(QUICK.replace(within=10), on=ConnectionError)
    def starts_a_thread() -> None:
        push(3)
        context = contextvars.copy_context()
        thread = threading.Thread(target=lambda: seen.append(context.run(tarry.remaining)))
        thread.start()
        thread.join()

    starts_a_thread()
    assert seen == [7]


# Turned off


def test_inside_the_block_retrying_is_off_and_after_it_on_again() -> None:
    function, made = counted()
    with tarry.disabled(), pytest.raises(ConnectionError) as caught:
        function()
    assert made == [0]
    assert caught.value.__notes__[0].endswith("s: retrying is turned off")
    with pytest.raises(ConnectionError):
        function()
    assert made == [0, 1, 2, 3]


def test_turned_off_is_off_for_who_opts_in_to_nesting_too() -> None:
    function, made = counted(NESTED)
    with tarry.disabled(), pytest.raises(ConnectionError):
        tarry.retry(NESTED, on=ConnectionError)(function)()
    assert made == [0]


@pytest.mark.usefixtures("turned_off")
@pytest.mark.parametrize("policy", [QUICK, NESTED])
def test_the_global_switch_turns_retrying_off_everywhere(policy: Policy) -> None:
    function, made = counted(policy)
    with pytest.raises(ConnectionError):
        function()
    with ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(function).exception(), ConnectionError)
    assert made == [1, 1]


@pytest.mark.usefixtures("turned_off")
def test_the_global_switch_holds_for_blocks_polls_and_calls_without_scope() -> None:
    tries: list[int] = []
    with pytest.raises(ConnectionError):  # noqa: PT012  the loop is what is tested
        for attempt in tarry.attempts(QUICK, on=ConnectionError):
            with attempt:
                tries.append(attempt.number)
                raise ConnectionError
    with pytest.raises(tarry.GaveUp, match="retrying is turned off"):
        tarry.retry(QUICK, until=bool)(lambda: tries.append(0))()
    with pytest.raises(AttributeError):
        tarry.retry(QUICK, on=AttributeError, scoped=False)(lambda: tries.append(0).nothing)()  # type: ignore[func-returns-value,attr-defined]
    assert tries == [1, 0, 0]


def test_guards_work_on_while_retrying_is_off() -> None:
    breaker = tarry.Breaker(failures=2)
    function = tarry.retry(QUICK, on=ConnectionError, breaker=breaker)(counted()[0])
    with tarry.disabled():
        for _ in range(2):
            with pytest.raises(ConnectionError):
                function()
        with pytest.raises(tarry.CircuitOpen):
            function()


@pytest.mark.anyio
async def test_a_block_that_turns_retrying_off_holds_for_its_tasks_and_nobody_else() -> None:
    mine, made = counted()
    others, made_by_others = counted()
    is_off, done = anyio.Event(), anyio.Event()

    async def other() -> None:
        await is_off.wait()
        with pytest.raises(ConnectionError):
            others()
        done.set()

    async def task() -> None:
        with pytest.raises(ConnectionError):
            mine()

    async with anyio.create_task_group() as group:
        group.start_soon(other)
        with tarry.disabled():
            group.start_soon(task)
            is_off.set()
            await done.wait()
    assert made == [0]
    assert made_by_others == [1, 2, 3]


def test_the_block_may_be_used_as_a_decorator() -> None:
    function, made = counted()
    with pytest.raises(ConnectionError):
        tarry.disabled()(function)()
    assert made == [0]


@pytest.mark.usefixtures("still_time")
def test_turning_retrying_off_keeps_the_time_limit_around() -> None:
    seen: list[float | None] = []

    @tarry.retry(QUICK.replace(within=10), on=ConnectionError)
    def works() -> None:
        with tarry.disabled():
            seen.append(tarry.remaining())

    works()
    assert seen == [10]


def test_the_switch_is_one_and_has_no_other_settings() -> None:
    assert tarry.disabled is disabled
    with pytest.raises(AttributeError):
        tarry.disabled.every_where = True  # type: ignore[attr-defined]


# Called by another process


@pytest.mark.parametrize(("said", "number"), [(1, 1), (4, 4), (0, 1), (-3, 1)])
def test_a_callers_attempt_is_a_scope_to_stay_out_of(said: int, number: int) -> None:
    function, made = counted()
    with called_by(said), pytest.raises(ConnectionError):
        function()
    assert made == [number]


def test_who_opts_in_may_retry_inside_a_callers_attempt() -> None:
    function, made = counted(NESTED)
    with called_by(2), pytest.raises(ConnectionError):
        function()
    assert made == [1, 2, 3]


def test_after_a_callers_attempt_all_is_as_before() -> None:
    function, made = counted()
    with pytest.raises(KeyError), called_by(2):
        raise KeyError
    with pytest.raises(ConnectionError):
        function()
    assert made == [1, 2, 3]


def test_what_outlives_a_callers_attempt_is_not_hindered_by_it() -> None:
    with called_by(2):
        mine = contextvars.copy_context()
    function, made = counted()
    with pytest.raises(ConnectionError):
        mine.run(function)
    assert made == [1, 2, 3]


# Contexts that are not ours


@pytest.mark.parametrize("block", [tarry.disabled, lambda: called_by(1)])
def test_a_block_that_ends_in_another_context_disturbs_nobody(block: Callable[[], object]) -> None:
    manager = block()

    def enter() -> None:
        manager.__enter__()  # type: ignore[attr-defined]

    def leave() -> Scope | None:
        current.set([77.0, 1])
        manager.__exit__(None, None, None)  # type: ignore[attr-defined]
        return current.get()

    contextvars.copy_context().run(enter)
    assert contextvars.copy_context().run(leave) == [77.0, 1]


def test_a_forgotten_coroutine_ends_quietly_and_takes_no_scope_away() -> None:
    """A loop that is closed leaves coroutines behind; they end wherever they are cleaned up."""
    for hooks in ((), (lambda _: None,)):
        scopes: list[Scope | None] = []

        @tarry.retry(QUICK, on=ConnectionError, hooks=hooks)
        async def waits(scopes: list[Scope | None] = scopes) -> None:
            scopes.append(current.get())
            await suspension()

        coroutine = waits()
        contextvars.copy_context().run(coroutine.send, None)

        @tarry.retry(QUICK, on=ConnectionError)
        def cleans_up(
            coroutine: object = coroutine, scopes: list[Scope | None] = scopes
        ) -> Scope | None:
            before = current.get()
            coroutine.close()  # type: ignore[attr-defined]
            assert current.get() is before
            assert scopes[0] is not None
            assert scopes[0][ATTEMPT] == ENDED
            return before

        assert cleans_up() is not None


def test_a_task_that_outlives_a_disabled_block_has_no_deadline_of_a_call_that_is_over() -> None:
    scopes: list[object] = []

    @tarry.retry(tarry.Policy(within=5), on=OSError)
    def call() -> None:
        with tarry.disabled():
            scopes.append(current.get())

    call()
    assert scopes == [[math.inf, DISABLED]]

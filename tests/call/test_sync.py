import dataclasses
import gc
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

import tarry
from tarry import Breaker, Exponential, Fixed, NoJitter, Policy, Quota, Ratio
from tarry.call.scope import current
from tarry.call.world import world

STEADY = Policy(backoff=Exponential(base=1, cap=60), jitter=NoJitter(), attempts=4)
Decorate = Callable[[Callable[..., Any]], Callable[..., Any]]


def ignore(_: object) -> None:
    pass


WAYS: dict[str, dict[str, Any]] = {
    "light": {},
    "bare": {"scoped": False},
    "careful": {"hooks": ignore},
    "careful and bare": {"hooks": ignore, "scoped": False},
    "guarded": {"budget": Quota(1e9), "breaker": Breaker(failures=10**9)},
    "guarded and bare": {"budget": Quota(1e9), "breaker": Breaker(10**9), "scoped": False},
    "guarded and careful": {"budget": Quota(1e9), "breaker": Breaker(10**9), "hooks": ignore},
    "guarded by a breaker": {"breaker": Breaker(failures=None, rate=1, minimum=10**9)},
    "guarded by a budget": {"budget": Ratio(1.0, 10, 10**9)},
}


@pytest.fixture(params=WAYS)
def retried(request: pytest.FixtureRequest) -> Decorate:
    """The ways a function is driven: they differ in what they cost, not in what they do."""
    return tarry.retry(STEADY, on=ConnectionError, **WAYS[request.param])


def failing(*errors: BaseException) -> Callable[[], str]:
    """A function that raises these, one a call, and then is done."""
    left = list(errors)

    def function() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return function


def test_a_call_that_succeeds_is_made_once(retried: Decorate, slept: list[float]) -> None:
    tries: list[object] = []

    @retried
    def add(*args: object, **kwargs: object) -> str:
        tries.append((args, kwargs))
        return "done"

    assert add(1, 2, three=3) == "done"
    assert tries == [((1, 2), {"three": 3})]
    assert slept == []


def test_a_call_that_fails_is_made_again_after_a_wait(
    retried: Decorate, slept: list[float]
) -> None:
    assert retried(failing(*[ConnectionError() for _ in range(3)]))() == "done"
    assert slept == [1, 2, 4]


def test_the_last_error_itself_comes_out(retried: Decorate, slept: list[float]) -> None:
    errors = [ConnectionError(number) for number in range(4)]
    with pytest.raises(ConnectionError) as caught:
        retried(failing(*errors))()
    assert caught.value is errors[3]
    assert slept == [1, 2, 4]
    assert caught.value.__notes__ == [
        "tarry: gave up after 4 attempts in 7 s: all attempts are used up"
    ]


def test_errors_do_not_hang_on_each_other(retried: Decorate, slept: list[float]) -> None:
    """An error of an earlier attempt is not what the last one was raised for."""
    errors = [ConnectionError(number) for number in range(4)]
    with pytest.raises(ConnectionError):
        retried(failing(*errors))()
    assert [error.__context__ for error in errors] == [None] * 4
    assert [error.__cause__ for error in errors] == [None] * 4
    assert len(slept) == 3


def test_an_error_that_is_not_named_comes_out_at_once_and_untouched(
    retried: Decorate, slept: list[float]
) -> None:
    error = KeyError("x")
    with pytest.raises(KeyError) as caught:
        retried(failing(error))()
    assert caught.value is error
    assert not hasattr(error, "__notes__")
    assert slept == []


def test_an_error_that_is_not_named_ends_the_retries_and_says_how_many(
    retried: Decorate, slept: list[float]
) -> None:
    with pytest.raises(KeyError) as caught:
        retried(failing(ConnectionError(), KeyError()))()
    assert slept == [1]
    assert caught.value.__notes__ == [
        "tarry: gave up after 2 attempts in 1 s: not an error that is retried"
    ]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, BaseException])
@pytest.mark.parametrize("before", [0, 2])
def test_what_ends_the_program_ends_the_call(
    retried: Decorate, slept: list[float], kind: type[BaseException], before: int
) -> None:
    end = kind()
    errors = [ConnectionError() for _ in range(before)]
    with pytest.raises(kind) as caught:
        retried(failing(*errors, end))()
    assert caught.value is end
    assert len(slept) == before
    assert not hasattr(end, "__notes__")


def test_a_group_with_an_end_in_it_ends_the_call(retried: Decorate, slept: list[float]) -> None:
    group = BaseExceptionGroup("both", [ConnectionError(), KeyboardInterrupt()])
    with pytest.raises(BaseExceptionGroup) as caught:
        retried(failing(group))()
    assert caught.value is group
    assert slept == []


def test_an_interrupt_in_the_midst_of_a_wait_ends_the_call(
    retried: Decorate, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    def fails() -> None:
        tries.append(1)
        raise ConnectionError

    monkeypatch.setattr(world, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        retried(fails)()
    assert tries == [1]
    assert caught.value.__context__ is None


def test_a_wait_of_nothing_does_not_sleep_at_all(slept: list[float]) -> None:
    for way in WAYS.values():
        policy = STEADY.replace(backoff=Fixed(0))
        function = failing(ConnectionError(), ConnectionError())
        assert tarry.retry(policy, on=ConnectionError, **way)(function)() == "done"
    assert slept == []


def test_the_scope_is_there_during_the_call_and_gone_after_it(retried: Decorate) -> None:
    seen: list[object] = []
    errors = [KeyError(), KeyboardInterrupt()]

    @retried
    def looks() -> None:
        seen.append(current.get())
        if errors:
            raise errors.pop(0)

    for error in (KeyError, KeyboardInterrupt):
        with pytest.raises(error):
            looks()
        assert current.get() is None
    looks()
    assert current.get() is None
    assert len(seen) == 3


def test_inside_another_retry_it_makes_one_attempt(retried: Decorate, slept: list[float]) -> None:
    tries: list[int] = []

    @tarry.retry(STEADY, on=ValueError)
    @retried
    def fails() -> None:
        tries.append(1)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        fails()
    assert (tries, slept) == ([1], [])


def test_the_same_error_object_raised_again_and_again_has_one_note(
    retried: Decorate, slept: list[float]
) -> None:
    error = ConnectionError("always the same")
    error.add_note("the user's own")

    @retried
    def fails() -> None:
        raise error

    for _ in range(3):
        with pytest.raises(ConnectionError) as caught:
            fails()
        assert caught.value is error
    assert error.__notes__ == [
        "the user's own",
        "tarry: gave up after 4 attempts in 7 s: all attempts are used up",
    ]
    assert error.__context__ is None
    assert len(slept) == 9


@dataclasses.dataclass(frozen=True)
class FrozenError(ConnectionError):
    code: int = 5


class SlottedError(ConnectionError):
    __slots__ = ("code",)


class NoNotesError(ConnectionError):
    def __getattribute__(self, name: str) -> object:
        if name in {"__notes__", "add_note"}:
            raise RuntimeError("no notes here")
        return super().__getattribute__(name)


class OddNote:
    def __str__(self) -> str:
        raise RuntimeError("not to be shown")


def with_notes(notes: object) -> ConnectionError:
    error = ConnectionError()
    error.__notes__ = notes  # type: ignore[assignment]  # anybody may set it to anything
    return error


@pytest.mark.parametrize(
    "error",
    [
        FrozenError(),
        SlottedError(),
        NoNotesError(),
        with_notes(("a", "tuple")),
        with_notes(None),
        with_notes("text"),
        with_notes([OddNote()]),
        with_notes([5, None]),
    ],
    ids=lambda error: type(error).__name__ + repr(getattr(error, "__dict__", ""))[:20],
)
@pytest.mark.usefixtures("still_time")
def test_an_error_that_takes_no_note_comes_out_all_the_same(
    retried: Decorate, error: ConnectionError
) -> None:
    def fails() -> None:
        raise error

    with pytest.raises(ConnectionError) as caught:
        retried(fails)()
    assert caught.value is error


def test_what_a_predicate_raises_comes_out_with_the_error_it_was_asked_about() -> None:
    def broken(_: Exception) -> bool:
        raise ZeroDivisionError

    error = ConnectionError()
    for way in WAYS.values():
        with pytest.raises(ZeroDivisionError) as caught:
            tarry.retry(STEADY, on=broken, **way)(failing(error))()
        assert caught.value.__context__ is error
        assert current.get() is None


def test_a_function_may_raise_stop_iteration(retried: Decorate) -> None:
    with pytest.raises(StopIteration):
        retried(failing(StopIteration()))()


def test_an_error_of_too_deep_recursion_is_an_error_like_others(slept: list[float]) -> None:
    def dig() -> None:
        dig()

    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError) as caught:
        tarry.retry(STEADY, on=RecursionError)(dig)()
    assert len(slept) == 3
    assert len(caught.value.__notes__) == 1
    assert sys.getrecursionlimit() == limit


def test_a_result_is_judged_and_not_touched(slept: list[float]) -> None:
    answers: list[object] = [0, [], "", None, "done"]
    poll = tarry.retry(STEADY.replace(attempts=None), until=bool)(lambda: answers.pop(0))
    assert poll() == "done"
    assert slept == [1, 2, 4, 8]


def test_what_a_judge_of_results_raises_comes_out() -> None:
    def broken(_: object) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tarry.retry(STEADY, on=Exception, until=broken)(failing())()
    with pytest.raises(ZeroDivisionError):
        tarry.retry(STEADY, on=Exception, on_result=broken)(failing())()


def test_listeners_that_come_in_the_midst_of_a_call_hear_the_rest(slept: list[float]) -> None:
    heard: list[object] = []

    def fails() -> None:
        if not stops:
            stops.append(tarry.observe.listen(heard.append))  # type: ignore[attr-defined]
        raise ConnectionError

    stops: list[Callable[[], None]] = []
    try:
        with pytest.raises(ConnectionError):
            tarry.retry(STEADY, on=ConnectionError)(fails)()
    finally:
        stops[0]()
    assert len(heard) == 8  # an attempt and what followed, four times
    assert len(slept) == 3


# Generators


def numbers(tries: list[int], *, fail: int, before: int = 0) -> Generator[int, object, str]:
    """Counts to three, but fails as often as said, after so many items."""
    tries.append(1)
    for number in range(1, 4):
        if number == before + 1 and len(tries) <= fail:
            raise ConnectionError(len(tries))
        yield number
    return "over"


def returned(running: Generator[Any, Any, Any]) -> object:
    """Run a generator to its end, for what it returns."""
    while True:
        try:
            next(running)
        except StopIteration as stop:
            return stop.value


def test_a_generator_is_begun_again_until_its_first_item(
    retried: Decorate, slept: list[float]
) -> None:
    tries: list[int] = []
    assert list(retried(numbers)(tries, fail=2)) == [1, 2, 3]
    assert len(tries) == 3
    assert slept == [1, 2]


def test_what_a_generator_returns_is_kept(retried: Decorate) -> None:
    assert returned(retried(numbers)([], fail=0)) == "over"


def test_a_generator_that_gives_nothing_is_done(retried: Decorate) -> None:
    def nothing() -> Generator[int, None, str]:
        yield from ()
        return "nothing"

    assert list(retried(nothing)()) == []
    assert returned(retried(nothing)()) == "nothing"


def test_after_the_first_item_a_generator_is_not_retried(
    retried: Decorate, slept: list[float]
) -> None:
    tries: list[int] = []
    running = retried(numbers)(tries, fail=1, before=2)
    assert next(running) == 1
    assert next(running) == 2
    with pytest.raises(ConnectionError) as caught:
        next(running)
    assert len(tries) == 1
    assert slept == []
    assert not hasattr(caught.value, "__notes__")
    assert list(running) == []


def test_the_error_of_a_generator_that_never_began_comes_out(
    retried: Decorate, slept: list[float]
) -> None:
    tries: list[int] = []
    with pytest.raises(ConnectionError) as caught:
        list(retried(numbers)(tries, fail=9))
    assert len(tries) == 4
    assert len(slept) == 3
    assert caught.value.args == (4,)


def test_a_generator_does_nothing_before_it_is_asked(retried: Decorate) -> None:
    tries: list[int] = []
    running = retried(numbers)(tries, fail=0)
    assert tries == []
    running.close()
    assert tries == []


def test_what_is_sent_and_thrown_reaches_the_generator(retried: Decorate) -> None:
    heard: list[object] = []

    @retried
    def echo() -> Generator[object, object, str]:
        said: object = "hello"
        while said != "stop":
            try:
                said = yield said
            except KeyError as error:
                said = error
            heard.append(said)
        return "over"

    running = echo()
    assert next(running) == "hello"
    assert running.send(5) == 5
    error = KeyError()
    assert running.throw(error) is error
    assert next(running) is None
    with pytest.raises(StopIteration) as stop:
        running.send("stop")
    assert stop.value.value == "over"
    assert heard == [5, error, None, "stop"]


def test_what_is_thrown_into_a_generator_that_does_not_catch_it_comes_out(
    retried: Decorate,
) -> None:
    for kind in (ConnectionError, KeyboardInterrupt):
        tries: list[int] = []
        running = retried(numbers)(tries, fail=0)
        next(running)
        error = kind()
        with pytest.raises(kind) as caught:
            running.throw(error)
        assert caught.value is error
        assert caught.value.__context__ is None
        assert tries == [1]


def test_a_generator_may_answer_what_is_thrown_with_an_error_of_its_own(
    retried: Decorate,
) -> None:
    @retried
    def converts() -> Iterator[int]:
        try:
            yield 1
        except KeyError as error:
            raise ValueError("converted") from error

    running = converts()
    next(running)
    with pytest.raises(ValueError, match="converted") as caught:
        running.throw(KeyError())
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_generator_may_end_when_something_is_thrown(retried: Decorate) -> None:
    @retried
    def ends() -> Generator[int, None, str]:
        try:
            yield 1
        except KeyError:
            return "caught"
        return "over"

    running = ends()
    next(running)
    with pytest.raises(StopIteration) as stop:
        running.throw(KeyError())
    assert stop.value.value == "caught"


def test_closing_closes_the_generator_inside(retried: Decorate) -> None:
    for drop in (False, True):
        closed: list[type[BaseException]] = []

        @retried
        def watched(closed: list[type[BaseException]] = closed) -> Iterator[int]:
            try:
                yield 1
                yield 2
            except BaseException as end:
                closed.append(type(end))
                raise

        running = watched()
        next(running)
        if not drop:
            running.close()
        del running
        if drop and not closed:
            gc.collect()
        assert closed == [GeneratorExit]


def test_a_generator_that_will_not_be_closed_is_an_error_as_ever(retried: Decorate) -> None:
    @retried
    def stubborn() -> Generator[int, None, None]:
        while True:
            try:
                yield 1
            except GeneratorExit:
                yield 2

    running = stubborn()
    next(running)
    with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
        running.close()


def test_between_items_there_is_no_scope(retried: Decorate) -> None:
    seen: list[object] = []

    @retried
    def looks() -> Iterator[int]:
        yield 1
        seen.append(current.get())
        yield 2

    seen += [current.get() for _ in looks()]
    assert seen == [None, None, None]


def test_an_error_in_the_loop_over_a_generator_is_the_loops_own(
    retried: Decorate, slept: list[float]
) -> None:
    with pytest.raises(ConnectionError):  # noqa: PT012  the loop is what is tested
        for _ in retried(numbers)([], fail=0):
            raise ConnectionError
    assert slept == []


def test_wrong_arguments_of_a_generator_are_an_error(retried: Decorate) -> None:
    with pytest.raises(TypeError, match="missing 1 required"):
        next(retried(numbers)())

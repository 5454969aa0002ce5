import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

import pytest

import tarry
from tarry import DecorationError, Fixed, Policy, PolicyError
from tarry.call.plan import plan_of
from tarry.call.wrap import wrap

QUICK = Policy(backoff=Fixed(0), attempts=3)
retried = tarry.retry(QUICK, on=ConnectionError)


def plain(a: int, /, b: str = "b", *args: float, c: bool = True, **kwargs: object) -> str:
    """What it does."""
    return f"{a} {b} {args} {c} {kwargs}"


async def awaited(a: int, *, b: str = "b") -> str:
    """What it does."""
    return f"{a} {b}"


def items(a: int, b: int = 2) -> Iterator[int]:
    """What it does."""
    yield from (a, b)


async def async_items(a: int, b: int = 2) -> AsyncIterator[int]:
    """What it does."""
    yield a
    yield b


class Fickle:
    """Every kind of method, each of which fails at first."""

    def __init__(self) -> None:
        self.tries = 0

    def _try(self) -> int:
        self.tries += 1
        if self.tries == 1:
            raise ConnectionError
        return self.tries

    @retried
    def plain(self) -> int:
        return self._try()

    @retried
    async def awaited(self) -> int:
        return self._try()

    @retried
    def items(self) -> Iterator[int]:
        yield self._try()

    @retried
    async def async_items(self) -> AsyncIterator[int]:
        yield self._try()

    @classmethod
    @retried
    def of_class(cls, tries: list[type]) -> int:
        tries.append(cls)
        if len(tries) == 1:
            raise ConnectionError
        return len(tries)

    @staticmethod
    @retried
    def static(tries: list[int]) -> int:
        tries.append(0)
        if len(tries) == 1:
            raise ConnectionError
        return len(tries)

    @property
    @retried
    def got(self) -> int:
        return self._try()


@pytest.mark.parametrize("function", [plain, awaited, items, async_items])
@pytest.mark.parametrize("hooks", [(), (lambda _: None,)])
@pytest.mark.parametrize("scoped", [True, False])
def test_the_wrapper_looks_like_what_it_wraps(
    function: Callable[..., Any], hooks: tuple[Callable[[object], None], ...], *, scoped: bool
) -> None:
    wrapped = tarry.retry(QUICK, on=ConnectionError, hooks=hooks, scoped=scoped)(function)
    assert inspect.signature(wrapped) == inspect.signature(function)
    assert inspect.unwrap(wrapped) is function
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(wrapped, name) == getattr(function, name)
    for is_kind in (
        inspect.iscoroutinefunction,
        inspect.isgeneratorfunction,
        inspect.isasyncgenfunction,
    ):
        assert is_kind(wrapped) is is_kind(function)


def test_arguments_of_every_kind_come_through() -> None:
    assert retried(plain)(1, "x", 2.5, c=False, d=4) == plain(1, "x", 2.5, c=False, d=4)
    assert asyncio.run(retried(awaited)(1, b="x")) == "1 x"
    assert list(retried(items)(5)) == [5, 2]


def test_methods_of_every_kind_can_be_retried() -> None:
    async def collected(thing: Fickle) -> list[int]:
        return [item async for item in thing.async_items()]

    assert Fickle().plain() == 2
    assert asyncio.run(Fickle().awaited()) == 2
    assert list(Fickle().items()) == [2]
    assert asyncio.run(collected(Fickle())) == [2]
    assert Fickle().got == 2
    assert Fickle.static([]) == 2
    seen: list[type] = []
    assert Fickle.of_class(seen) == 2
    assert seen == [Fickle, Fickle]


def test_the_state_of_a_method_is_its_objects_own() -> None:
    one, other = Fickle(), Fickle()
    assert (one.plain(), one.plain(), other.plain()) == (2, 3, 2)


def test_bound_methods_partials_lambdas_and_builtins_can_be_wrapped_too() -> None:
    assert retried(Fickle().plain)() == 2
    assert retried(functools.partial(Fickle.plain, Fickle()))() == 2
    assert retried(lambda: 5)() == 5
    assert retried(len)("four") == 4
    assert retried("four".upper)() == "FOUR"
    kept: list[int] = []
    retried(kept.append)(1)
    assert kept == [1]
    assert asyncio.run(retried(functools.partial(awaited, 1))()) == "1 b"


def test_a_wrapper_can_be_wrapped_again() -> None:
    assert retried(retried(retried(Fickle().plain)))() == 2


def test_what_is_said_about_a_function_stays_with_it() -> None:
    def marked() -> None: ...

    marked.role = "reader"  # type: ignore[attr-defined]
    assert retried(marked).role == "reader"  # type: ignore[attr-defined]


def test_a_plan_without_a_name_gets_the_functions() -> None:
    names: list[str] = []
    plan = plan_of(QUICK, on=ConnectionError, hooks=lambda event: names.append(event.name))
    wrap(plan, len)("x")
    wrap(plan, Fickle().plain)()
    wrap(plan.replace(name="mine"), len)("x")
    one = "tests.call.test_wrap.Fickle.plain"
    assert names == ["builtins.len"] * 2 + [one] * 4 + ["mine"] * 2


@pytest.mark.parametrize("function", [items, async_items])
@pytest.mark.parametrize("named", [{"until": bool}, {"on_result": bool}])
def test_a_generator_has_no_result_to_judge(
    function: Callable[..., Any], named: dict[str, Any]
) -> None:
    with pytest.raises(DecorationError, match="generator function: it has no result to judge"):
        tarry.retry(on=ConnectionError, **named)(function)


@pytest.mark.parametrize(
    ("function", "kind"), [(plain, "a plain function"), (items, "a generator function")]
)
def test_what_cannot_be_cut_off_cannot_have_an_attempt_timeout(
    function: Callable[..., Any], kind: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        tarry.retry(Policy(attempt_timeout=5), on=ConnectionError)(function)
    assert (caught.value.field, caught.value.value) == ("attempt_timeout", 5.0)
    assert caught.value.wanted == (
        f"None for {kind}, which cannot be cut off (give what it calls a timeout)"
    )


@pytest.mark.parametrize("function", [awaited, async_items])
def test_what_can_be_cut_off_may_have_an_attempt_timeout(function: Callable[..., Any]) -> None:
    wrapped = tarry.retry(Policy(attempt_timeout=5), on=ConnectionError)(function)
    assert inspect.unwrap(wrapped) is function


def test_a_generator_based_on_a_wrapped_one_can_be_delegated_to() -> None:
    @retried
    def inner() -> Generator[int, str, float]:
        heard = yield 1
        assert heard == "hello"
        return 2.5

    def outer() -> Generator[int, str, float]:
        return (yield from inner())

    running = outer()
    assert next(running) == 1
    with pytest.raises(StopIteration) as stop:
        running.send("hello")
    assert stop.value.value == 2.5


async def later() -> int:
    return 1


@pytest.mark.parametrize(
    "settings",
    [{}, {"scoped": False}, {"budget": tarry.Quota()}, {"on_result": bool}],
    ids=["light", "bare", "guarded", "careful"],
)
def test_a_plain_function_that_gives_a_coroutine_is_refused_at_the_call(
    settings: dict[str, Any],
) -> None:
    def gives_a_coroutine() -> object:
        return later()

    call = tarry.retry(on=OSError, **settings)(gives_a_coroutine)
    with pytest.raises(
        tarry.DecorationError, match=r"gives_a_coroutine returned a coroutine: it is"
    ):
        call()

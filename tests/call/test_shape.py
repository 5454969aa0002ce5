import functools
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from types import MethodType
from unittest.mock import AsyncMock, Mock

import pytest

from tarry import DecorationError
from tarry.call.shape import Shape, bare, is_coroutine_function, name_of, shape_of


def plain() -> None: ...


def one(_: object) -> None: ...


async def awaited() -> None: ...


def items() -> Iterator[int]:
    yield 1


async def async_items() -> AsyncIterator[int]:
    yield 1


class Thing:
    def plain(self) -> None: ...

    async def awaited(self) -> None: ...

    def items(self) -> Iterator[int]:
        yield 1

    async def async_items(self) -> AsyncIterator[int]:
        yield 1

    @classmethod
    def of_class(cls) -> None: ...

    @staticmethod
    def static() -> None: ...

    def __call__(self) -> None: ...


class AsyncThing:
    async def __call__(self, _: object = None) -> bool:
        return False


@functools.wraps(plain)
def wrapper() -> None: ...


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (plain, Shape.FUNCTION),
        (awaited, Shape.COROUTINE),
        (items, Shape.GENERATOR),
        (async_items, Shape.ASYNC_GENERATOR),
        (Thing().plain, Shape.FUNCTION),
        (Thing().awaited, Shape.COROUTINE),
        (Thing().items, Shape.GENERATOR),
        (Thing().async_items, Shape.ASYNC_GENERATOR),
        (Thing.plain, Shape.FUNCTION),
        (Thing.awaited, Shape.COROUTINE),
        (Thing.of_class, Shape.FUNCTION),
        (Thing.static, Shape.FUNCTION),
        (Thing().__call__, Shape.FUNCTION),
        (partial(plain), Shape.FUNCTION),
        (partial(partial(awaited), 1), Shape.COROUTINE),
        (partial(Thing().items), Shape.GENERATOR),
        (partial(Thing().async_items), Shape.ASYNC_GENERATOR),
        (lambda: None, Shape.FUNCTION),
        (lambda: (yield), Shape.GENERATOR),
        (wrapper, Shape.FUNCTION),
        (functools.singledispatch(one), Shape.FUNCTION),
        (len, Shape.FUNCTION),
        ([].append, Shape.FUNCTION),
        (str.upper, Shape.FUNCTION),
        ("".__len__, Shape.FUNCTION),
        (str.__len__, Shape.FUNCTION),
        (MethodType(awaited, 1), Shape.COROUTINE),
    ],
    ids=repr,
)
def test_every_kind_of_function_is_known_for_what_it_is(function: object, shape: Shape) -> None:
    assert shape_of(function) is shape
    assert is_coroutine_function(function) is (shape is Shape.COROUTINE)


@pytest.mark.parametrize(
    "thing",
    [
        Thing,
        Thing(),
        AsyncThing(),
        Mock(),
        AsyncMock(),
        functools.cache(plain),
        functools.partialmethod(plain),
        property(one),
        None,
        42,
        "plain",
        MethodType(Thing(), 1),
        partial(Thing()),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_is_no_function_is_refused(thing: object) -> None:
    with pytest.raises(DecorationError) as caught:
        shape_of(thing)
    assert str(caught.value) == (
        f"cannot retry {thing!r}: it must be one of a plain function, a coroutine function, "
        "a generator function, an async generator function"
    )


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_a_decorator_in_the_wrong_place_is_told_the_right_one(
    kind: Callable[[object], object],
) -> None:
    with pytest.raises(DecorationError, match=f"put the decorator below @{kind.__name__}, not ab"):
        shape_of(kind(plain))


def test_a_function_marked_as_a_coroutine_function_is_taken_for_one() -> None:
    def gives_a_coroutine() -> object:
        return awaited()

    assert shape_of(gives_a_coroutine) is Shape.FUNCTION
    # What inspect.markcoroutinefunction sets, from Python 3.12 on.
    gives_a_coroutine._is_coroutine_mark = object()  # type: ignore[attr-defined]  # noqa: SLF001
    assert shape_of(gives_a_coroutine) is Shape.COROUTINE


def test_an_object_that_is_awaited_when_called_counts_as_a_coroutine_function() -> None:
    assert is_coroutine_function(AsyncThing())
    assert is_coroutine_function(partial(AsyncThing()))
    assert not is_coroutine_function(Thing())
    assert not is_coroutine_function(AsyncThing)  # calling it gives an object
    assert not is_coroutine_function(Mock())
    assert not is_coroutine_function(5)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (plain, f"{__name__}.plain"),
        (Thing().awaited, f"{__name__}.Thing.awaited"),
        (partial(partial(items)), f"{__name__}.items"),
        (len, "builtins.len"),
    ],
)
def test_events_call_a_function_by_module_and_qualified_name(function: object, name: str) -> None:
    assert name_of(function) == name


def test_what_has_no_name_is_called_by_what_it_shows() -> None:
    assert name_of(str.upper) == "<method 'upper' of 'str' objects>"
    assert name_of(5) == "5"


def test_the_bare_function_is_inside_partials_and_bound_methods() -> None:
    assert bare(partial(MethodType(partial(plain), 1))) is plain
    assert bare(5) == 5

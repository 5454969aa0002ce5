"""The kinds of function that can be retried; every other object is refused."""

from enum import Enum
from functools import partial
from types import (
    BuiltinFunctionType,
    BuiltinMethodType,
    CoroutineType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import NoReturn

from tarry.errors import DecorationError

# The flags of a code object, as `inspect` names them; it would double the time of our import.
GENERATOR_FLAG, COROUTINE_FLAG, ASYNC_GENERATOR_FLAG = 0x20, 0x80, 0x200
BUILT_IN = (
    BuiltinFunctionType,
    BuiltinMethodType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)


class Shape(Enum):
    """The kinds of function that can be retried."""

    FUNCTION = "a plain function"
    COROUTINE = "a coroutine function"
    GENERATOR = "a generator function"
    ASYNC_GENERATOR = "an async generator function"


def shape_of(function: object) -> Shape:
    """Return the kind of a function; raise DecorationError for anything else."""
    inner = bare(function)
    if isinstance(inner, (staticmethod, classmethod)):
        place = f"below @{type(inner).__name__}, not above it"
        raise DecorationError(f"cannot retry {function!r}: put the decorator {place}")
    if isinstance(inner, BUILT_IN):
        return Shape.FUNCTION
    if not isinstance(inner, FunctionType):
        kinds = ", ".join(shape.value for shape in Shape)
        raise DecorationError(f"cannot retry {function!r}: it must be one of {kinds}")
    flags = inner.__code__.co_flags
    if flags & ASYNC_GENERATOR_FLAG:
        return Shape.ASYNC_GENERATOR
    # inspect.markcoroutinefunction marks a plain function that returns a coroutine.
    if flags & COROUTINE_FLAG or hasattr(inner, "_is_coroutine_mark"):
        return Shape.COROUTINE
    return Shape.GENERATOR if flags & GENERATOR_FLAG else Shape.FUNCTION


def is_coroutine_function(value: object) -> bool:
    """Return whether a call of it returns an awaitable, as far as can be seen."""
    inner = bare(value)
    if not isinstance(inner, FunctionType):
        inner = type(inner).__call__
    return isinstance(inner, FunctionType) and shape_of(inner) is Shape.COROUTINE


def refuse_coroutine(name: str, result: object) -> NoReturn:
    """Raise because a plain function returned a coroutine: it would run only after the retries."""
    if isinstance(result, CoroutineType):
        result.close()
    advice = "it is not retried; decorate an async function, or use Policy.acall"
    raise DecorationError(f"{name} returned a coroutine: {advice}")


def name_of(function: object) -> str:
    """Return its name in events: module and qualified name."""
    inner = bare(function)
    module, name = getattr(inner, "__module__", None), getattr(inner, "__qualname__", None)
    return f"{module}.{name}" if module and name else repr(inner)


def bare(function: object) -> object:
    """Return the function inside a partial or a bound method."""
    while isinstance(function, (partial, MethodType)):
        function = function.func if isinstance(function, partial) else function.__func__
    return function

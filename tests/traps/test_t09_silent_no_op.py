"""T9: silent no-op on coroutines.

Elsewhere a breaker on `async def` saw 50 failures and counted none, and a retry on a generator did
nothing. The rule: know the kind, or refuse at decoration.
"""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from unittest.mock import AsyncMock, Mock

import pytest

import tarry
from tarry import Breaker, CircuitOpen, DecorationError, Fixed, Policy, PolicyError

THREE = Policy(backoff=Fixed(0), attempts=3)


@pytest.mark.anyio
async def test_a_breaker_counts_the_failures_of_a_coroutine() -> None:
    breaker = Breaker(failures=5)
    made: list[int] = []

    @breaker
    async def fails() -> None:
        made.append(1)
        raise KeyError

    for number in range(50):
        with pytest.raises(KeyError if number < 5 else CircuitOpen):
            await fails()
    assert len(made) == 5
    assert breaker.phase == "open"


@pytest.mark.anyio
async def test_every_kind_is_really_retried() -> None:
    made: list[str] = []
    retried = tarry.retry(THREE, on=KeyError)

    @retried
    def plain() -> None:
        made.append("plain")
        raise KeyError

    @retried
    async def awaited() -> None:
        made.append("awaited")
        raise KeyError

    @retried
    def items() -> Iterator[int]:
        made.append("items")
        yield dict[int, int]()[1]

    @retried
    async def async_items() -> AsyncIterator[int]:
        made.append("async items")
        yield dict[int, int]()[1]

    with pytest.raises(KeyError):
        plain()
    with pytest.raises(KeyError):
        await awaited()
    with pytest.raises(KeyError):
        next(items())
    with pytest.raises(KeyError):
        await anext(async_items())
    with pytest.raises(KeyError):
        await retried(functools.partial(awaited.__wrapped__))()  # type: ignore[attr-defined]
    assert [made.count(kind) for kind in dict.fromkeys(made)] == [3, 6, 3, 3]


class CallMe:
    def __call__(self) -> None: ...


class AwaitMe:
    async def __call__(self, *_: object) -> bool:
        return False


@pytest.mark.parametrize(
    "thing", [CallMe(), AwaitMe(), CallMe, Mock(), AsyncMock(), functools.cache(len), None]
)
def test_what_cannot_be_known_is_refused_at_decoration(thing: Callable[..., object]) -> None:
    for decorate in (tarry.retry(on=KeyError), Breaker()):
        with pytest.raises(DecorationError):
            decorate(thing)


@pytest.mark.parametrize("where", ["on", "until", "on_result", "hooks"])
def test_a_predicate_or_hook_to_be_awaited_is_refused(where: str) -> None:
    """A coroutine that nobody awaits always looks like a yes."""

    async def asks(_: object) -> bool:
        return False

    for wrong in (asks, AwaitMe(), functools.partial(asks)):
        with pytest.raises(PolicyError):
            tarry.retry(**{where: wrong, **({} if where == "on" else {"on": KeyError})})  # type: ignore[arg-type]

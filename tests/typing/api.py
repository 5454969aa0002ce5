"""What type checkers know of the API: checked by mypy, never run.

A wrong use carries an ignore that names the error; if it were no error, the ignore itself would be
one (warn_unused_ignores).
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterator,
)
from datetime import timedelta
from typing import Any, TypeVar, assert_type

import tarry
from tarry.observe import Event
from tarry.service import Cut, Endpoint, Message, kinds
from tarry.service.model.listing import Found
from tarry.service.store.contract import Store

Item = TypeVar("Item")
policy = tarry.Policy(attempts=3)


# Signatures survive


@tarry.retry(on=ConnectionError)
def plain(a: int, /, b: str = "", *rest: float, c: bool = False) -> list[str]:
    return [str(a), b, str(rest), str(c)]


assert_type(plain(1, "b", 2.0, c=True), list[str])
plain("1")  # type: ignore[arg-type]
plain(1, c=1)  # type: ignore[arg-type]
plain(1, d=1)  # type: ignore[call-arg]
plain()  # type: ignore[call-arg]


@tarry.retry(policy, on=(ConnectionError, TimeoutError), budget=tarry.Quota())
async def awaited(a: int, *, b: str = "") -> bytes:
    return (str(a) + b).encode()


to_await: object = assert_type(awaited(1, b="b"), Coroutine[Any, Any, bytes])
awaited(1, "b")  # type: ignore[call-arg,unused-coroutine]
awaited(b=1)  # type: ignore[call-arg,arg-type,unused-coroutine]


@tarry.retry(policy, on=ConnectionError)
def items(a: int) -> Generator[int, str, float]:
    yield a
    return 1.0


assert_type(items(1), Generator[int, str, float])


@tarry.retry(policy, on=ConnectionError)
def iterator(a: int) -> Iterator[int]:
    yield a


assert_type(iterator(1), Iterator[int])


@tarry.retry(policy, on=ConnectionError)
async def async_items(a: int) -> AsyncGenerator[int, str]:
    yield a


assert_type(async_items(1), AsyncGenerator[int, str])


@tarry.retry(policy, on=ConnectionError)
async def async_iterator(a: int) -> AsyncIterator[int]:
    yield a


assert_type(async_iterator(1), AsyncIterator[int])


@tarry.retry(policy, on=ConnectionError)
def first_of(some: list[Item]) -> Item:
    return some[0]


assert_type(first_of([1]), int)
assert_type(first_of(["a"]), str)


class Client:
    @tarry.retry(policy, on=ConnectionError)
    def get(self, path: str) -> int:
        return len(path)

    @tarry.retry(policy, on=ConnectionError)
    async def fetch(self, path: str) -> int:
        return len(path)

    @classmethod
    @tarry.retry(policy, on=ConnectionError)
    def of_class(cls, path: str) -> int:
        return len(path)

    @staticmethod
    @tarry.retry(policy, on=ConnectionError)
    def static(path: str) -> int:
        return len(path)

    @property
    @tarry.retry(policy, on=ConnectionError)
    def size(self) -> int:
        return 1


client = Client()
assert_type(client.get("/"), int)
assert_type(Client.get(client, "/"), int)
to_await = assert_type(client.fetch("/"), Coroutine[Any, Any, int])
assert_type(client.static("/"), int)
assert_type(client.size, int)
client.get(1)  # type: ignore[arg-type]
client.get()  # type: ignore[call-arg]

assert_type(tarry.retry(on=ConnectionError)(len)("x"), int)
assert_type(tarry.retry(on=ConnectionError)(client.get)("x"), int)
assert_type(tarry.Breaker()(client.get)("x"), int)
to_await = assert_type(tarry.Breaker()(client.fetch)(path="/"), Coroutine[Any, Any, int])


# What is to be retried


def named(error: Exception) -> bool:
    return bool(error)


def with_wait(error: Exception) -> tarry.Failure | bool:
    return tarry.Failure(retry_after=float(str(error)))


tarry.retry(on=ConnectionError)
tarry.retry(on=(ConnectionError, named))
tarry.retry(on=[ConnectionError, named, with_wait])
tarry.retry(on={ConnectionError, TimeoutError})
tarry.retry(on=named)
tarry.retry(on=with_wait)
tarry.retry(on=lambda error: "busy" in str(error))
tarry.retry(until=bool)
tarry.retry(until=lambda job: job.done)
tarry.retry(on_result=lambda answer: answer is None)
tarry.retry(on_result=lambda answer: tarry.Failure(retry_after=5) if answer else None)
tarry.retry(on=BaseException)  # type: ignore[arg-type]
tarry.retry(on=KeyboardInterrupt)  # type: ignore[arg-type]
tarry.retry(on="ConnectionError")  # type: ignore[arg-type]
tarry.retry(on=int)  # type: ignore[arg-type]
tarry.retry(on=lambda: True)  # type: ignore[arg-type]
tarry.retry(policy, ConnectionError)  # type: ignore[call-arg]
tarry.retry(until=5)  # type: ignore[arg-type]


async def async_predicate(_: Exception) -> bool:
    return True


tarry.retry(on=async_predicate)  # type: ignore[arg-type]


# Guards, hooks and the rest


def told(event: Event) -> None:
    assert_type(event.name, str)


def print_it(event: object) -> str:
    return repr(event)


tarry.retry(on=ConnectionError, budget=tarry.Ratio(), breaker=tarry.Breaker(), hooks=told)
tarry.retry(on=ConnectionError, hooks=[told, print_it, print])
tarry.retry(on=ConnectionError, name="fetch", scoped=False)
tarry.retry(on=ConnectionError, budget=tarry.Breaker())  # type: ignore[arg-type]
tarry.retry(on=ConnectionError, breaker=tarry.Quota())  # type: ignore[arg-type]
tarry.retry(on=ConnectionError, breaker=tarry.Breaker)  # type: ignore[arg-type]
tarry.retry(on=ConnectionError, hooks=5)  # type: ignore[arg-type]
tarry.retry(on=ConnectionError, name=5)  # type: ignore[arg-type]
tarry.retry({"attempts": 3}, on=ConnectionError)  # type: ignore[arg-type]


# Blocks


def block() -> int:
    for attempt in tarry.attempts(policy, on=ConnectionError):
        with attempt as same:
            assert_type(same.number, int)
            assert_type(attempt.remaining, float | None)
            assert_type(attempt.result(5), int)
            return attempt.result(6)
    return 0


async def async_block() -> None:
    async for attempt in tarry.attempts(policy, on=ConnectionError):
        async with attempt as same:
            assert_type(same.number, int)
            same.number = 5  # type: ignore[misc]


# Calls


def add(a: int, b: int = 1) -> int:
    return a + b


async def add_later(a: int, b: int = 1) -> int:
    return a + b


async def calls() -> None:
    assert_type(policy.call(add, 1, b=2, on=ConnectionError), int)
    assert_type(await policy.acall(add_later, 1, on=ConnectionError), int)
    await policy.acall(add, 1, on=ConnectionError)  # type: ignore[arg-type]


# Values


tarry.Policy(
    backoff=tarry.Exponential(base=0.1, factor=3, cap=timedelta(seconds=10)),
    jitter=tarry.Smooth(),
    attempts=None,
    within=timedelta(minutes=1),
    attempt_timeout=2.5,
    retry_after=tarry.RetryAfter(at_most=30),
    statuses=tarry.Statuses(retry=[503]),
    nested=True,
    name="mine",
)
tarry.Policy(3)  # type: ignore[call-arg,arg-type]
tarry.Policy(attempts="3")  # type: ignore[arg-type]
tarry.Policy(backoff=5)  # type: ignore[arg-type]
tarry.Policy(jitter="full")  # type: ignore[arg-type]
tarry.Policy(retries=3)  # type: ignore[call-arg]
tarry.Decorrelated(clamp="below")  # type: ignore[arg-type]
assert_type(policy.attempts, int | None)
policy.attempts = 4  # type: ignore[misc]
assert_type(policy.within, float | None)
assert_type(policy.replace(attempts=4), tarry.Policy)
assert_type(policy.waits(seed=7), Iterator[float])
assert_type(tarry.Policy.load("policy.toml"), tarry.Policy)
assert_type(tarry.Policy.from_dict({"version": 1}), tarry.Policy)
assert_type(policy.to_dict(), dict[str, object])
assert_type(tarry.remaining(), float | None)
assert_type(tarry.Breaker().retry_at, float | None)
assert_type(tarry.Quota().tokens, float)
assert_type(hash(policy), int)


# Decisions are closed unions


def shown(decision: tarry.Done | tarry.Again | tarry.GiveUp) -> str:
    match decision:
        case tarry.Done():
            return "done"
        case tarry.Again(delay, memory):
            assert_type(delay, float)
            assert_type(memory, float | None)
            return "again"
        case tarry.GiveUp(why, retry_after):
            assert_type(why, tarry.Why)
            assert_type(retry_after, float | None)
            return "gave up"


draw: Callable[[], float] = iter([0.5]).__next__
shown(
    tarry.decide(
        policy, tarry.Progress(attempts=1), tarry.Failure(tarry.Kind.TIMEOUT), now=1.0, draw=draw
    )
)
shown(tarry.decide(policy, tarry.Progress(), "failed", now=1.0, draw=draw))  # type: ignore[arg-type]


# Errors carry their facts


def facts(error: tarry.TarryError) -> None:
    match error:
        case tarry.GaveUp():
            assert_type(error.why, str)
            assert_type(error.attempts, int)
            assert_type(error.last, object)
            assert_type(error.retry_after, float | None)
        case tarry.CircuitOpen():
            assert_type(error.retry_at, float)
            assert_type(error.retry_in, float)
        case tarry.PolicyError():
            assert_type(error.field, str)


with tarry.disabled():
    tarry.disabled.everywhere = True
tarry.disabled.everywhere = "yes"  # type: ignore[assignment]


# The kind says which records a store returns, and which methods take it


async def look(store: Store) -> None:
    assert_type(await store.get(kinds.Endpoints("app_1"), "main"), Endpoint)
    assert_type(await store.page(kinds.Messages("app_1"), Cut()), Found[Message])
    assert_type(await store.read(kinds.SealedEndpoints()), list[Endpoint])
    assert_type(await store.put(kinds.Environment("org_1")), kinds.Environment)
    await store.get(kinds.Keys("org_1"), "key_1")  # type: ignore[arg-type]
    await store.page(kinds.Environments(), Cut())  # type: ignore[arg-type]
    await store.read(kinds.Endpoints("app_1"))  # type: ignore[arg-type]
    await store.delete(kinds.Keys("org_1"), "key_1", now=0.0)  # type: ignore[arg-type]

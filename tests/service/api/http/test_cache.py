"""What is asked with every request is asked of the store now and then, and once at a time."""

import asyncio

import pytest

from tarry.errors import NotFound
from tarry.service.api.http.cache import Cache
from tarry.testing.clock import PushedClock

pytestmark = pytest.mark.anyio


class Store:
    """Answers when it is told to, and counts how often it was asked."""

    def __init__(self) -> None:
        self.queried: list[str] = []
        self.answers = asyncio.Event()
        self.word = "first"

    async def query(self, key: str) -> str:
        self.queried.append(key)
        word = self.word
        await self.answers.wait()
        if word == "missing":
            raise NotFound("word", key)
        return f"{word} {key}"


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def clock() -> PushedClock:
    return PushedClock()


@pytest.fixture
def cache(store: Store, clock: PushedClock) -> Cache[str, str]:
    return Cache(store.query, seconds=1.0, most=2, clock=lambda: clock.now)


async def test_an_answer_is_remembered_for_its_time(
    cache: Cache[str, str], store: Store, clock: PushedClock
) -> None:
    store.answers.set()
    assert await cache.get("a") == ("first a", False)
    store.word = "second"
    assert await cache.get("a") == ("first a", True)
    clock.push(1.0)
    assert await cache.get("a") == ("second a", False)


async def test_all_who_ask_at_the_same_time_are_one_question(
    cache: Cache[str, str], store: Store
) -> None:
    asking = [asyncio.create_task(cache.get("a")) for _ in range(64)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    store.answers.set()
    assert await asyncio.gather(*asking) == [("first a", False), *[("first a", True)] * 63]
    assert store.queried == ["a"]


async def test_who_comes_much_later_does_not_wait_for_an_old_question(
    cache: Cache[str, str], store: Store, clock: PushedClock
) -> None:
    early = asyncio.create_task(cache.get("a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.push(1.0)
    store.word = "second"
    late = asyncio.create_task(cache.get("a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    store.answers.set()
    assert (await early, await late) == (("first a", False), ("second a", False))
    assert await cache.get("a") == ("second a", True)


async def test_that_something_is_missing_is_told_to_all_and_not_remembered(
    cache: Cache[str, str], store: Store
) -> None:
    store.word = "missing"
    asking = [asyncio.create_task(cache.get("a")) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    store.answers.set()
    errors = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(error) for error in errors] == [NotFound, NotFound]
    store.word = "second"
    assert await cache.get("a") == ("second a", False)


async def test_who_goes_away_takes_the_answer_from_nobody(
    cache: Cache[str, str], store: Store
) -> None:
    gone, here = (asyncio.create_task(cache.get("a")) for _ in range(2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    gone.cancel()
    store.answers.set()
    assert await here == ("first a", True)


async def test_what_is_forgotten_is_asked_for_again(cache: Cache[str, str], store: Store) -> None:
    asking = asyncio.create_task(cache.get("a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    cache.forget("a")
    store.answers.set()
    assert await asking == ("first a", False)
    assert await cache.get("a") == ("first a", False)
    cache.forget("a")
    cache.forget("never asked")
    assert await cache.get("a") == ("first a", False)


async def test_it_does_not_remember_without_end(cache: Cache[str, str], store: Store) -> None:
    store.answers.set()
    for key in "abc":
        await cache.get(key)
    assert await cache.get("c") == ("first c", True)
    assert await cache.get("a") == ("first a", False)

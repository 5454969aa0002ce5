"""Two stores that number their lanes differently understand each other."""

import asyncio

import pytest
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.model.lane import Fetched, Stream, Want
from tarry.service.model.task import Work
from tarry.service.store.kinds import Endpoints
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import (
    NOON,
    a_task,
    an_application,
    an_endpoint,
    new_message,
)
from tarry.testing.store_machine.sides import Lane, Side, Sides

APPLICATION = an_application()


def sides(ahead: int) -> Sides:
    """Return a model, and a store in which this many lanes exist already."""
    model, real = MemoryStore(), MemoryStore()

    async def prepare() -> None:
        for store in (model, real):
            await store.put(APPLICATION)
        other = an_application(environment="org_other")
        await real.put(other)
        for _ in range(ahead):
            await real.put(an_endpoint(other))

    asyncio.run(prepare())
    return Sides(model, real, asyncio.run)


def test_lanes_have_their_own_numbers_on_each_side() -> None:
    both = sides(ahead=5)
    endpoint = an_endpoint(APPLICATION)
    put = both.ask(lambda side: side.store.put(endpoint))
    assert not isinstance(put, Exception)
    assert put.lane == 1
    assert both.model.to_store(Lane(1)) == 1
    assert both.real.to_store(Lane(1)) == 6
    assert both.real.to_model([{Lane(6): 3}]) == [{Lane(1): 3}]


def test_what_is_fetched_is_put_into_the_model_s_numbers() -> None:
    both = sides(ahead=5)
    endpoint, new = an_endpoint(APPLICATION), new_message(APPLICATION)
    both.ask(lambda side: side.store.put(endpoint))
    both.ask(lambda side: side.store.add([new]))
    wants = [Want(lane=1, stream=Stream.READY, limit=5)]
    fetched = both.ask(
        lambda side: side.store.fetch(side.to_store(wants), now=NOON, most_bytes=1000)
    )
    assert isinstance(fetched, Fetched)
    assert [(due.lane, due.message) for due in fetched.due] == [(1, new.message.id)]
    assert fetched.added == {1: 1}


def test_an_error_that_both_raise_is_an_answer() -> None:
    answer = sides(ahead=0).ask(lambda side: side.store.get(Endpoints(APPLICATION.id), "ep_none"))
    assert isinstance(answer, NotFound)


def test_an_error_of_one_is_noticed() -> None:
    both = sides(ahead=0)

    async def only_there(side: Side) -> None:
        if side is both.real:
            raise NotFound("endpoint", "ep_none")

    with pytest.raises(AssertionError, match="the model says None, the store NotFound"):
        both.ask(only_there)
    assert not both.agree


def test_another_answer_is_noticed() -> None:
    both = sides(ahead=1)
    with pytest.raises(AssertionError, match="the model says"):
        both.ask(lambda side: side.store.awake(range(64)))


def test_a_cursor_may_be_anything() -> None:
    both = sides(ahead=0)
    task = a_task(an_endpoint(APPLICATION, lane=1), Work.RECOVER)

    async def answer(side: Side) -> object:
        return replace(task, cursor="a" if side is both.real else "b")

    both.ask(answer)
    assert both.agree

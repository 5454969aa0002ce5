import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tarry.errors import Conflict, NotFound
from tarry.service.api.resources.upsert import change_or_create, create_or_find

pytestmark = pytest.mark.anyio

API = "/api/v1"
THERE = "https://example.com/in"


def scripted(*answers: str | Exception) -> Callable[[], Awaitable[str]]:
    """Answers one after the other."""
    remaining = list(answers)

    async def answer() -> str:
        result = remaining.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    return answer


GONE, TAKEN = NotFound("thing", "it"), Conflict("thing", "it")


@pytest.mark.parametrize(
    ("change", "make", "answer"),
    [
        (["changed"], [], ("changed", 200)),
        ([GONE], ["made"], ("made", 201)),
        ([GONE, "changed"], [TAKEN], ("changed", 200)),
        ([GONE, GONE], [TAKEN, "made"], ("made", 201)),
    ],
)
async def test_it_is_changed_or_made_whoever_is_faster(
    change: list[Any], make: list[Any], answer: tuple[str, int]
) -> None:
    reply = await change_or_create(scripted(*change), scripted(*make))
    assert (reply.body, reply.status) == answer


@pytest.mark.parametrize(
    ("make", "find", "answer"),
    [
        (["made"], [], ("made", 201)),
        ([TAKEN], ["found"], ("found", 200)),
        ([TAKEN, "made"], [GONE], ("made", 201)),
    ],
)
async def test_it_is_made_or_found_whoever_is_faster(
    make: list[Any], find: list[Any], answer: tuple[str, int]
) -> None:
    reply = await create_or_find(scripted(*make), scripted(*find))
    assert (reply.body, reply.status) == answer


async def test_what_is_in_the_way_for_good_is_a_conflict() -> None:
    for ends in (
        change_or_create(scripted(*[GONE] * 9), scripted(*[TAKEN] * 9)),
        create_or_find(scripted(*[TAKEN] * 9), scripted(*[GONE] * 9)),
    ):
        with pytest.raises(Conflict):
            await ends


@pytest.mark.parametrize(
    ("url_path", "body"),
    [
        ("app/acme", {"name": "Acme", "uid": "acme"}),
        ("app/shop/endpoint/main", {"url": THERE, "uid": "main"}),
        ("operational-webhook/endpoint/main", {"url": THERE, "uid": "main"}),
        ("event-type/order.paid", {"description": "An order was paid"}),
    ],
)
async def test_of_many_that_put_at_once_one_makes_it_and_the_others_change_it(
    client: httpx.AsyncClient, url_path: str, body: dict[str, str]
) -> None:
    answers = await asyncio.gather(*(client.put(f"{API}/{url_path}", json=body) for _ in range(20)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 19}
    assert len({answer.json()["createdAt"] for answer in answers}) == 1


async def test_who_wants_it_made_or_found_gets_it_while_others_delete_it(
    client: httpx.AsyncClient,
) -> None:
    fields = {"name": "Acme", "uid": "acme"}
    for _ in range(5):
        posted, put, _ = await asyncio.gather(
            asyncio.gather(
                *(client.post(f"{API}/app?get_if_exists=true", json=fields) for _ in range(10))
            ),
            asyncio.gather(*(client.put(f"{API}/app/acme", json=fields) for _ in range(10))),
            asyncio.gather(*(client.delete(f"{API}/app/acme") for _ in range(3))),
        )
        assert {answer.status_code for answer in (*posted, *put)} <= {200, 201}

from typing import Any

import httpx
import pytest

from tarry.service.api.resources.applications import application_list
from tests.service.api.resources.applications.test_applications import APPS, created

pytestmark = pytest.mark.anyio

USUAL: dict[str, Any] = {"url": "https://example.com/in"}
DISABLED: dict[str, Any] = {**USUAL, "disabled": True}
PLAY: dict[str, Any] = {"url": "https://play.svix.com/in/e_something/"}
ENDPOINTS = {
    "none": [],
    "usual": [USUAL],
    "disabled": [DISABLED, DISABLED],
    "mixed": [DISABLED, USUAL, PLAY],
    "play": [PLAY],
    "over": [{**PLAY, "disabled": True}],
}
"""What each application has."""


async def prepare(client: httpx.AsyncClient) -> None:
    """Put them there instead of what is there."""
    for application in (await client.get(APPS)).json()["data"]:
        await client.delete(f"{APPS}/{application['id']}")
    for uid, endpoints in ENDPOINTS.items():
        await created(client, uid=uid)
        for fields in endpoints:
            answer = await client.post(f"{APPS}/{uid}/endpoint", json=fields)
            assert answer.status_code == 201, answer.text


async def page(client: httpx.AsyncClient, **query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  any
    answer = await client.get(APPS, params=query)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return [application["uid"] for application in body["data"]], body


@pytest.mark.parametrize(
    ("left_out", "stay"),
    [
        ([], ["none", "usual", "disabled", "mixed", "play", "over"]),
        (["no"], ["usual", "disabled", "mixed", "play", "over"]),
        (["disabled"], ["none", "usual", "mixed", "play"]),
        (["svix_play"], ["none", "usual", "disabled", "mixed"]),
        (["no", "disabled", "svix_play"], ["usual", "mixed"]),
    ],
    ids=lambda kind: " ".join(kind) or "nothing",
)
async def test_applications_without_endpoints_of_interest_are_left_out(
    client: httpx.AsyncClient, left_out: list[str], stay: list[str]
) -> None:
    await prepare(client)
    query = {f"exclude_apps_with_{kind}_endpoints": "true" for kind in left_out}
    shown, body = await page(client, **query)
    assert (shown, body["done"]) == (stay, True)
    assert (await page(client, order="descending", **query))[0] == stay[::-1]


async def test_what_is_left_out_leaves_no_gaps_in_pages(client: httpx.AsyncClient) -> None:
    await prepare(client)
    filters = {"exclude_apps_with_disabled_endpoints": "true", "limit": 2}
    first, body = await page(client, **filters)
    second, end = await page(client, iterator=body["iterator"], **filters)
    assert (first, body["done"]) == (["none", "usual"], False)
    assert (second, end["done"]) == (["mixed", "play"], True)
    back, body = await page(client, iterator=end["prevIterator"], **filters)
    assert (back, body["done"]) == (first, True)


@pytest.mark.parametrize("leads", ["iterator", "prevIterator"])
async def test_of_many_that_are_left_out_a_request_looks_at_some(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, leads: str
) -> None:
    await prepare(client)
    for number in range(7):
        await created(client, uid=f"empty-{number}")
    last = (await created(client, uid="last"))["id"]
    await client.post(f"{APPS}/last/endpoint", json=USUAL)
    monkeypatch.setattr(application_list, "MOST_CHECKED", 3)
    filters: dict[str, Any] = {"exclude_apps_with_no_endpoints": "true", "limit": 2}
    shown, body = await page(
        client, **filters, **({} if leads == "iterator" else {"iterator": f"-{last}"})
    )
    pages = [shown]
    while not body["done"]:
        shown, body = await page(client, iterator=body[leads], **filters)
        pages.append(shown)
    assert [] in pages, "nothing was found in some, and it goes on all the same"
    walked = [uid for shown in (pages if leads == "iterator" else reversed(pages)) for uid in shown]
    whole = ["usual", "disabled", "mixed", "play", "over", "last"]
    assert walked == (whole if leads == "iterator" else whole[:-1])


async def test_an_endpoint_that_was_deleted_is_none(client: httpx.AsyncClient) -> None:
    await prepare(client)
    (endpoint,) = (await client.get(f"{APPS}/usual/endpoint")).json()["data"]
    await client.delete(f"{APPS}/usual/endpoint/{endpoint['id']}")
    shown, _ = await page(client, exclude_apps_with_no_endpoints="true")
    assert shown == ["disabled", "mixed", "play", "over"]

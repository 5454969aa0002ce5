from typing import Any

import httpx
import pytest

from tarry.service.api.resources.applications import application_list
from tests.service.api.resources.applications.test_applications import APPS, made

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
    for one in (await client.get(APPS)).json()["data"]:
        await client.delete(f"{APPS}/{one['id']}")
    for uid, endpoints in ENDPOINTS.items():
        await made(client, uid=uid)
        for told in endpoints:
            answer = await client.post(f"{APPS}/{uid}/endpoint", json=told)
            assert answer.status_code == 201, answer.text


async def page(client: httpx.AsyncClient, **query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  any
    answer = await client.get(APPS, params=query)
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return [one["uid"] for one in said["data"]], said


@pytest.mark.parametrize(
    ("left_out", "stay"),
    [
        ([], ["none", "usual", "disabled", "mixed", "play", "over"]),
        (["no"], ["usual", "disabled", "mixed", "play", "over"]),
        (["disabled"], ["none", "usual", "mixed", "play"]),
        (["svix_play"], ["none", "usual", "disabled", "mixed"]),
        (["no", "disabled", "svix_play"], ["usual", "mixed"]),
    ],
    ids=lambda one: " ".join(one) or "nothing",
)
async def test_applications_without_endpoints_of_interest_are_left_out(
    client: httpx.AsyncClient, left_out: list[str], stay: list[str]
) -> None:
    await prepare(client)
    query = {f"exclude_apps_with_{one}_endpoints": "true" for one in left_out}
    shown, said = await page(client, **query)
    assert (shown, said["done"]) == (stay, True)
    assert (await page(client, order="descending", **query))[0] == stay[::-1]


async def test_what_is_left_out_leaves_no_gaps_in_pages(client: httpx.AsyncClient) -> None:
    await prepare(client)
    asked = {"exclude_apps_with_disabled_endpoints": "true", "limit": 2}
    first, said = await page(client, **asked)
    second, end = await page(client, iterator=said["iterator"], **asked)
    assert (first, said["done"]) == (["none", "usual"], False)
    assert (second, end["done"]) == (["mixed", "play"], True)
    back, said = await page(client, iterator=end["prevIterator"], **asked)
    assert (back, said["done"]) == (first, True)


@pytest.mark.parametrize("leads", ["iterator", "prevIterator"])
async def test_of_many_that_are_left_out_a_request_looks_at_some(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, leads: str
) -> None:
    await prepare(client)
    for number in range(7):
        await made(client, uid=f"empty-{number}")
    last = (await made(client, uid="last"))["id"]
    await client.post(f"{APPS}/last/endpoint", json=USUAL)
    monkeypatch.setattr(application_list, "LOOK", 3)
    asked: dict[str, Any] = {"exclude_apps_with_no_endpoints": "true", "limit": 2}
    shown, said = await page(
        client, **asked, **({} if leads == "iterator" else {"iterator": f"-{last}"})
    )
    pages = [shown]
    while not said["done"]:
        shown, said = await page(client, iterator=said[leads], **asked)
        pages.append(shown)
    assert [] in pages, "nothing was found in some, and it goes on all the same"
    found = [uid for shown in (pages if leads == "iterator" else reversed(pages)) for uid in shown]
    whole = ["usual", "disabled", "mixed", "play", "over", "last"]
    assert found == (whole if leads == "iterator" else whole[:-1])


async def test_an_endpoint_that_was_deleted_is_none(client: httpx.AsyncClient) -> None:
    await prepare(client)
    (endpoint,) = (await client.get(f"{APPS}/usual/endpoint")).json()["data"]
    await client.delete(f"{APPS}/usual/endpoint/{endpoint['id']}")
    shown, _ = await page(client, exclude_apps_with_no_endpoints="true")
    assert shown == ["disabled", "mixed", "play", "over"]

from typing import Any

import httpx
import pytest
import svix

from tarry.service.api.resources.endpoints.secrets import prefixed
from tarry.service.endpoints import MOST_OLD_SECRETS
from tarry.service.hooks import Hooks
from tarry.service.store.kinds import Endpoints
from tarry.testing.receiver import Arrival

pytestmark = pytest.mark.anyio

APP = "/api/v1/app/shop"
SHARED = "whsec_C2FVsBQIhrscChlQIM+b5sSYspob7oDazfgh"
PRIVATE = (
    "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
)
PUBLIC = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="


@pytest.fixture
async def url_path(client: httpx.AsyncClient) -> str:
    """Where an endpoint's secret is."""
    (endpoint,) = (await client.get(f"{APP}/endpoint")).json()["data"]
    return f"{APP}/endpoint/{endpoint['id']}/secret"


async def test_a_secret_is_made_or_told(client: httpx.AsyncClient, url_path: str) -> None:
    assert (await client.get(url_path)).json()["key"].startswith("whsec_")
    for secret, shown in ((SHARED, SHARED), (SHARED.removeprefix("whsec_"), SHARED)):
        body = {"url": "https://example.com/", "secret": secret}
        new = (await client.post(f"{APP}/endpoint", json=body)).json()
        assert (await client.get(f"{APP}/endpoint/{new['id']}/secret")).json() == {"key": shown}


async def test_of_a_pair_only_the_public_half_is_shown(
    client: httpx.AsyncClient, url_path: str
) -> None:
    answer = await client.post(f"{url_path}/rotate", json={"key": PRIVATE})
    assert (answer.status_code, answer.json()) == (200, {"key": PUBLIC})
    assert (await client.get(url_path)).json() == {"key": PUBLIC}


@pytest.mark.parametrize("body", [b"", b"{}", b'{"key": null}', b'{"gracePeriodSeconds": 60}'])
async def test_a_rotation_needs_nothing_to_be_told(
    client: httpx.AsyncClient, url_path: str, body: bytes
) -> None:
    old = (await client.get(url_path)).json()
    answer = await client.post(f"{url_path}/rotate", content=body)
    assert answer.status_code == 200
    assert answer.json() != old
    assert answer.json() == (await client.get(url_path)).json()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"key": "whsec_short"}, "key"),
        ({"key": "hwsec_C2FVsBQIhrscChlQIM+b5sSYspob7oDazfgh"}, "key"),
        ({"key": ""}, "key"),
        ({"gracePeriodSeconds": -1}, "gracePeriodSeconds"),
        ({"gracePeriodSeconds": 604_801}, "gracePeriodSeconds"),
    ],
)
async def test_what_cannot_be_is_refused_with_its_place(
    client: httpx.AsyncClient, url_path: str, body: dict[str, Any], field: str
) -> None:
    old = (await client.get(url_path)).json()
    answer = await client.post(f"{url_path}/rotate", json=body)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", field])
    assert (await client.get(url_path)).json() == old


async def test_there_are_only_so_many_old_secrets(client: httpx.AsyncClient, url_path: str) -> None:
    for _ in range(MOST_OLD_SECRETS):
        assert (await client.post(f"{url_path}/rotate", json={})).status_code == 200
    answer = await client.post(f"{url_path}/rotate", json={})
    assert (answer.status_code, answer.json()["code"]) == (400, "limit_reached")


async def test_a_receiver_may_verify_with_either_secret_for_a_while(
    live: Any,  # noqa: ANN401  see conftest
) -> None:
    body = {"url": live.receiver.url, "secret": SHARED}
    new = (await live.client.post(f"{APP}/endpoint", json=body)).json()
    url_path = f"{APP}/endpoint/{new['id']}/secret/rotate"
    later = (await live.client.post(url_path, json={})).json()["key"]
    await live.client.post(f"{APP}/msg", json={"eventType": "order.paid", "payload": {"a": 1}})
    (first,) = await live.arrived(1)
    for key in (SHARED, later):
        verify(first, key)
    last = (await live.client.post(url_path, json={"gracePeriodSeconds": 0})).json()["key"]
    await live.client.post(f"{APP}/msg", json={"eventType": "order.paid", "payload": {"a": 2}})
    _, second = await live.arrived(2)
    for key in (SHARED, last):  # the first one's grace period still lasts
        verify(second, key)
    with pytest.raises(svix.WebhookVerificationError):
        verify(second, later)


async def test_a_rotation_that_came_before_is_answered_as_before(
    client: httpx.AsyncClient, hooks: Hooks, url_path: str
) -> None:
    key = {"idempotency-key": "once"}
    first, second = [await client.post(f"{url_path}/rotate", headers=key) for _ in range(2)]
    assert first.json() == second.json() == (await client.get(url_path)).json()
    shop = await hooks.application("shop")
    stored = await hooks.store.get(Endpoints(shop.id), url_path.split("/")[-2])
    assert len(stored.secrets) == 2


def verify(arrival: Arrival, key: str) -> None:
    names = ("svix-id", "svix-timestamp", "svix-signature")
    svix.Webhook(key).verify(arrival.body, {name: arrival.header(name) for name in names})


def test_a_bare_secret_is_a_shared_one() -> None:
    assert prefixed("abcd") == "whsec_abcd"
    assert prefixed("whsk_abcd") == "whsk_abcd"

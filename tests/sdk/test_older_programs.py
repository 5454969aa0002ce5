"""What programs ask for that know the open-source server: older names, forms and statuses."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tarry.testing.receiver import Receiver
from tests.plain_http import PLAIN
from tests.sdk.conftest import KEY, until

URL = "https://example.org/hook"


@pytest.fixture(
    scope="module",
    params=["sqlite_server", pytest.param("postgres_server", marks=pytest.mark.slow)],
)
def api(request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """Asks with trailing slashes, as such programs do."""
    server = request.getfixturevalue(request.param)
    headers = {"authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=f"{server}/api/v1/", headers=headers, **PLAIN) as client:
        yield client


@pytest.fixture(scope="module")
def kind(api: httpx.Client) -> str:
    """The name of a new type of events."""
    told = {"name": "older.kind", "description": "Something was made"}
    return str(answered(api.post("event-type/", json=told), 201)["name"])


@pytest.fixture
def app(api: httpx.Client) -> str:
    return str(answered(api.post("app/", json={"name": "Acme"}), 201)["id"])


@pytest.fixture
def way(api: httpx.Client, app: str) -> str:
    """The path of a new endpoint."""
    made = answered(api.post(f"app/{app}/endpoint/", json={"url": URL, "version": 1}), 201)
    return f"app/{app}/endpoint/{made['id']}/"


def answered(answer: httpx.Response, status: int) -> Any:  # noqa: ANN401  JSON
    """What an answer of this status says."""
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def test_everything_is_told_with_older_names_too(api: httpx.Client, app: str, kind: str) -> None:
    told = {"url": URL, "version": 1, "filterTypes": [kind], "rateLimit": 100}
    made = answered(api.post(f"app/{app}/endpoint/", json=told), 201)
    assert made["filterTypes"] == made["eventTypes"] == [kind]
    assert made["rateLimit"] == made["throttleRate"] == 100
    assert made["version"] == 1
    way = f"app/{app}/endpoint/{made['id']}/"
    patched = answered(api.patch(way, json={"filterTypes": None, "rateLimit": None}), 200)
    assert patched["filterTypes"] is patched["rateLimit"] is None
    put = answered(api.put(way, json={"url": URL, "filterTypes": [kind]}), 200)
    assert put["eventTypes"] == [kind]
    assert answered(api.put(way, json={"url": URL}), 200)["eventTypes"] is None


@pytest.mark.parametrize(
    ("patch", "status"),
    [
        ({}, 200),
        ({"uid": None}, 200),
        ({"uid": "asd"}, 200),
        ({"uid": ""}, 422),
        ({"channels": None}, 200),
        ({"channels": ["asd"]}, 200),
        ({"channels": []}, 422),
        ({"throttleRate": None}, 200),
        ({"throttleRate": 65_536}, 422),
        ({"disabled": False}, 200),
        ({"metadata": {}}, 200),
        ({"newerField": True}, 200),
    ],
)
def test_a_patch_says_nothing_null_or_something(
    api: httpx.Client, way: str, patch: dict[str, Any], status: int
) -> None:
    first = {"uid": "main", "channels": ["eu"], "throttleRate": 3, "metadata": {"a": "b"}}
    before = answered(api.patch(way, json=first), 200)
    answered(api.patch(way, json=patch), status)
    after = answered(api.get(way), 200)
    changed = patch if status == 200 else {}
    told = {**before, **changed}
    for name in ("uid", "channels", "throttleRate", "metadata", "disabled", "url", "description"):
        assert after[name] == told[name]


def test_what_is_made_deleted_and_accepted_has_its_status(api: httpx.Client, app: str) -> None:
    endpoint = answered(api.put(f"app/{app}/endpoint/fake-id/", json={"url": URL}), 201)["id"]
    way = f"app/{app}/endpoint/{endpoint}/"
    assert answered(api.put(way, json={"url": URL}), 200)["id"] == endpoint
    assert answered(api.put(way + "headers/", json={"headers": {}}), 204) is None
    assert answered(api.post(way + "secret/rotate/", json={"key": None}), 200)["key"]
    message = {"eventType": "a.b", "payload": {}, "payloadRetentionPeriod": 5}
    sent = answered(api.post(f"app/{app}/msg/", json=message), 202)["id"]
    assert answered(api.post(f"app/{app}/msg/{sent}/endpoint/{endpoint}/resend/"), 202) == {}
    assert answered(api.delete(f"app/{app}/msg/{sent}/content/"), 204) is None
    assert answered(api.post(f"auth/dashboard-access/{app}/"), 200)["token"]
    assert answered(api.post(f"auth/app-portal-access/{app}/", json={}), 200)["url"]
    assert answered(api.delete(way), 204) is None
    assert answered(api.get(way), 404)["code"] == "not_found"
    assert answered(api.delete(f"app/{app}/"), 204) is None
    for way in ("health/", "health", "health/ping/", "health/ping"):
        assert answered(api.get(way), 204) is None


@pytest.mark.parametrize(
    "query",
    [
        "event_types=a.b,c.d",
        "event_types=a.b&event_types=c.d",
        "event_types[]=a.b&event_types[]=c.d",
        "event_types[0]=a.b&event_types[1]=c.d",
        "event_types=a.b%2Cc.d",
    ],
)
def test_lists_in_queries_come_in_every_form(api: httpx.Client, app: str, query: str) -> None:
    for kind in ("a.b", "c.d", "e.f"):
        answered(api.post(f"app/{app}/msg/", json={"eventType": kind, "payload": {}}), 202)
    found = answered(api.get(f"app/{app}/msg/?{query}"), 200)["data"]
    # Two messages of one millisecond are listed in any order.
    assert sorted(one["eventType"] for one in found) == ["a.b", "c.d"]


def test_an_empty_list_has_everything_that_programs_read(api: httpx.Client, app: str) -> None:
    empty: dict[str, Any] = {"data": [], "iterator": None, "prevIterator": None, "done": True}
    for way in ("endpoint/", "msg/", "msg"):
        assert answered(api.get(f"app/{app}/{way}"), 200) == empty


def test_a_payload_is_shown_and_sent_as_it_came(api: httpx.Client, app: str) -> None:
    payload = '{"b" : 1.10,\t"a":[12345678901234567890 ], "a":"\\u00e9/\\/"}'
    with Receiver(bodies=True) as receiver:
        answered(api.post(f"app/{app}/endpoint/", json={"url": receiver.url}), 201)
        body = f'{{"eventType":"a.b","payload":{payload}}}'
        answer = api.post(f"app/{app}/msg/", content=body.encode())
        assert payload in answer.text
        message = answered(answer, 202)["id"]
        assert payload in api.get(f"app/{app}/msg/{message}/").text
        until(lambda: receiver.arrivals)
        assert receiver.arrivals[0].body == payload.encode()


def test_an_error_has_a_code_and_says_more(api: httpx.Client, app: str) -> None:
    missing = answered(api.get(f"app/{app}/endpoint/ep_nowhere/"), 404)
    assert set(missing) == {"code", "detail"}
    wrong = answered(api.post(f"app/{app}/msg/", json={"payload": []}), 422)
    assert set(wrong["detail"][0]) == {"loc", "msg", "type"}
    nobody = httpx.get(api.base_url.join("app/"), **PLAIN)
    assert set(answered(nobody, 401)) == {"code", "detail"}
    assert answered(api.get(f"app/{app}/endpoint/?limit=6&iterator=BAD-$$$ITERATOR"), 422)

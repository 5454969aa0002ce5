import asyncio
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tarry.service.api.http.readiness import REMEMBERED
from tarry.service.api.resources.messages.bodies import MOST_BATCH_BYTES, MOST_BODY
from tarry.service.hooks import Hooks
from tarry.service.model.allowed import MOST_BYTES
from tarry.service.model.listing import Cut
from tarry.service.store.kinds import Endpoints, Messages
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio

MESSAGES = "/api/v1/app/shop/msg"
BATCH = f"{MESSAGES}/batch"


def message_in(payload: str = '{"total": 12}', rest: str = "") -> bytes:
    return f'{{"eventType": "order.created", "payload": {payload}{rest}}}'.encode()


async def accepted(hooks: Hooks) -> int:
    """How many deliveries wait."""
    shop = await hooks.application("shop")
    (endpoint,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    return (await hooks.lane(endpoint)).waiting


async def test_a_message_is_kept_byte_for_byte(client: httpx.AsyncClient, hooks: Hooks) -> None:
    payload = '{ "n" : 123456789012345678901234567890,\n "a": 1.10, "a": "é\\u0000" }'
    answer = await client.post(MESSAGES, content=message_in(payload, ', "tags": ["x y"]'))
    assert answer.status_code == 202
    shown = answer.json()
    assert shown["eventType"] == "order.created"
    assert shown["tags"] == ["x y"]
    assert f'"payload":{payload}'.encode() in answer.content
    shop = await hooks.application("shop")
    stored = await hooks.store.get(Messages(shop.id), shown["id"])
    assert stored.payload == payload.encode()
    assert await accepted(hooks) == 1


async def test_an_application_is_known_by_its_id_too(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    shop = await hooks.application("shop")
    answer = await client.post(
        f"/api/v1/app/{shop.id}/msg?with_content=false", content=message_in()
    )
    assert (answer.status_code, answer.json()["payload"]) == (202, {})


@pytest.mark.parametrize("key", ["", "Bearer other", "Bearer let-me-i", "let-me-in", "Bearer é"])
async def test_who_has_no_key_is_not_served(
    client: httpx.AsyncClient, hooks: Hooks, key: str
) -> None:
    headers = {b"authorization": key.encode("latin-1")}
    answer = await client.post(MESSAGES, content=message_in(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "authentication_failed")
    assert await accepted(hooks) == 0


@pytest.mark.parametrize("name", ["nobody", "app_1", "a%00b", "a%20b", "%2e%2e", "x" * 300])
async def test_an_unknown_application_is_not_found(client: httpx.AsyncClient, name: str) -> None:
    answer = await client.post(f"/api/v1/app/{name}/msg", content=message_in())
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_body_that_cannot_be_used_is_refused_and_the_connection_goes_on(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    for body in (b"", b"{", message_in("[1]"), message_in("[" * 50_000), b'{"a":' * 40_000):
        answer = await client.post(MESSAGES, content=body)
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["loc"][0] == "body"
    assert await accepted(hooks) == 0
    assert (await client.post(MESSAGES, content=message_in())).status_code == 202


@pytest.mark.parametrize(("url_path", "most"), [(MESSAGES, MOST_BODY), (BATCH, MOST_BATCH_BYTES)])
async def test_a_body_that_is_too_long_is_refused(
    client: httpx.AsyncClient, url_path: str, most: int
) -> None:
    answer = await client.post(url_path, content=b" " * (most + 1))
    assert answer.status_code == 413
    assert str(most) in answer.json()["detail"]


async def test_a_payload_is_too_long_before_its_request_is(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    answer = await client.post(MESSAGES, content=message_in('{"a": "' + "x" * MOST_BYTES + '"}'))
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    assert await accepted(hooks) == 0


async def test_what_is_told_twice_of_a_message_is_kept_once(client: httpx.AsyncClient) -> None:
    twice = ', "channels": ["eu", "vip", "eu"], "tags": ["b", "a", "b"]'
    shown = (await client.post(MESSAGES, content=message_in(rest=twice))).json()
    assert (shown["channels"], shown["tags"]) == (["eu", "vip"], ["b", "a"])


async def test_an_event_id_is_taken_once(client: httpx.AsyncClient, hooks: Hooks) -> None:
    body = message_in(rest=', "eventId": "e-1"')
    answers = [await client.post(MESSAGES, content=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 409]
    detail = "there is another message with the event id 'e-1' already"
    assert answers[1].json()["detail"] == detail
    assert await accepted(hooks) == 1


async def test_a_message_of_a_batch_fails_alone(client: httpx.AsyncClient, hooks: Hooks) -> None:
    repeated = message_in(rest=', "eventId": "e-1"')
    answer = await client.post(
        BATCH, content=b"[" + b",".join([repeated, message_in(), repeated]) + b"]"
    )
    assert answer.status_code == 202
    first, second, third = answer.json()["data"]
    (refused,) = answer.json()["errors"]
    assert first["eventId"] == "e-1"
    assert second["id"].startswith("msg_")
    assert third is None
    assert (refused["index"], refused["code"]) == (2, "conflict")
    assert await accepted(hooks) == 2


async def test_a_batch_of_which_nothing_was_kept_is_no_success(client: httpx.AsyncClient) -> None:
    body = b"[" + message_in(rest=', "eventId": "e-1"') + b"]"
    assert (await client.post(BATCH, content=body)).status_code == 202
    assert (await client.post(BATCH, content=body)).status_code == 409
    assert (await client.post(BATCH, content=b"[]")).json() == {"data": [], "errors": []}


async def test_a_message_of_a_batch_that_does_not_fit_its_schema_fails_alone(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    schemas = {"1": {"properties": {"total": {"type": "integer"}}}}
    event_type = {"name": "order.created", "description": "", "schemas": schemas}
    await client.post("/api/v1/event-type", json={**event_type, "validatePayload": True})
    bodies = [
        message_in('{"total": "1"}'),
        message_in(),
        message_in('{"total": []}'),
        message_in('{"total": 13}'),
    ]
    body, headers = b"[" + b",".join(bodies) + b"]", {"idempotency-key": "k-1"}
    answer = await client.post(BATCH, content=body, headers=headers)
    assert answer.status_code == 202
    totals = [entry and entry["payload"]["total"] for entry in answer.json()["data"]]
    assert totals == [None, 12, None, 13]
    errors = answer.json()["errors"]
    assert [(entry["index"], entry["code"]) for entry in errors] == [
        (0, "invalid_payload"),
        (2, "invalid_payload"),
    ]
    assert errors[0]["detail"] == 'body.0.payload.total: "1" is not of type "integer"'
    again = await client.post(BATCH, content=body, headers=headers)
    assert again.json() == answer.json()
    assert await accepted(hooks) == 2


async def test_for_messages_of_which_none_fits_nothing_is_made(client: httpx.AsyncClient) -> None:
    event_type = {
        "name": "order.created",
        "description": "",
        "schemas": {"1": {"required": ["id"]}},
    }
    await client.post("/api/v1/event-type", json={**event_type, "validatePayload": True})
    body = message_in(rest=', "application": {"name": "New", "uid": "new"}')
    alone = await client.post("/api/v1/app/new/msg", content=body)
    many = await client.post("/api/v1/app/new/msg/batch", content=b"[" + body + b"]")
    for answer, loc in ((alone, ["payload"]), (many, ["0", "payload"])):
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["loc"] == ["body", *loc]
    assert (await client.get("/api/v1/app/new")).status_code == 404


async def test_a_full_backlog_turns_messages_away_for_a_while(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await hooks.application("shop", most_waiting=2)
    answers = [await client.post(MESSAGES, content=message_in()) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert answers[-1].headers["retry-after"] == "5"


async def test_a_key_is_for_one_request(client: httpx.AsyncClient, hooks: Hooks) -> None:
    async def post(body: bytes, path: str = MESSAGES, key: str = "k-1") -> httpx.Response:
        return await client.post(path, content=body, headers={"idempotency-key": key})

    await hooks.application("other")
    first, again = await post(message_in()), await post(message_in())
    assert first.content == again.content
    refused = await post(message_in('{"total": 13}'))
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert (
        refused.json()["detail"]
        == "there is another message with the idempotency key 'k-1' already"
    )
    elsewhere = await post(message_in(), "/api/v1/app/other/msg")
    assert elsewhere.json()["id"] != first.json()["id"]
    assert (await post(message_in(), key="k-2")).json()["id"] != first.json()["id"]
    assert (await post(message_in(), key="x" * 256)).status_code == 422
    assert await accepted(hooks) == 2


async def test_a_key_of_a_batch_is_for_each_of_its_messages(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    body, headers = b"[" + message_in() + b"," + message_in() + b"]", {"idempotency-key": "k-1"}
    first, again = [await client.post(BATCH, content=body, headers=headers) for _ in range(2)]
    assert first.json() == again.json()
    assert await accepted(hooks) == 2


async def test_the_same_key_at_the_same_time_is_accepted_once(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    headers = {"idempotency-key": "k-1"}
    posts = (client.post(MESSAGES, content=message_in(), headers=headers) for _ in range(30))
    answers = await asyncio.gather(*posts)
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert await accepted(hooks) == 1


async def test_a_deleted_application_is_forgotten_and_its_name_can_be_given_again(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    first = (await client.post(MESSAGES, content=message_in())).json()
    old = await hooks.application("shop")
    await hooks.delete_application(old)
    assert (await client.post(MESSAGES, content=message_in())).status_code == 404
    new = await hooks.application("shop")
    second = (await client.post(MESSAGES, content=message_in())).json()
    assert (await hooks.store.get(Messages(new.id), second["id"])).application != old.id
    assert first["id"] != second["id"]


async def test_an_application_is_made_on_the_way(client: httpx.AsyncClient) -> None:
    path = "/api/v1/app/new/msg"
    assert (await client.post(path, content=message_in())).status_code == 404
    body = message_in(rest=', "application": {"name": "New", "uid": "new", "throttleRate": 3}')
    posts = (client.post(path, content=body) for _ in range(5))
    assert {answer.status_code for answer in await asyncio.gather(*posts)} == {202}
    created = (await client.get("/api/v1/app/new")).json()
    assert (created["name"], created["throttleRate"]) == ("New", 3)
    again = message_in(rest=', "application": {"name": "Another", "uid": "other"}')
    assert (await client.post(path, content=again)).status_code == 202
    assert (await client.get("/api/v1/app/new")).json() == created
    assert len((await client.get(path)).json()["data"]) == 6


@pytest.mark.parametrize("uid", ['"other"', "null"])
async def test_an_application_is_made_under_the_name_in_the_path_only(
    client: httpx.AsyncClient, uid: str
) -> None:
    body = message_in(rest=f', "application": {{"name": "New", "uid": {uid}}}')
    answer = await client.post("/api/v1/app/new/msg", content=body)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "application", "uid"]
    for name in ("new", "other"):
        assert (await client.get(f"/api/v1/app/{name}")).status_code == 404


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_message_may_be_due_at_the_end_of_all_days(
    client: httpx.AsyncClient, at: str
) -> None:
    answer = await client.post(MESSAGES, content=message_in(rest=f', "deliverAt": "{at}"'))
    assert answer.status_code == 202
    assert (await client.get(f"{MESSAGES}/{answer.json()['id']}")).json() == answer.json()


async def test_how_long_a_payload_is_kept_and_what_it_is_sent_as_is_put_down(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    raw = ', "transformationsParams": {"rawPayload": "<a/>", "headers": {"content-type": "a/xml"}}'
    rest = f'{raw}, "payloadRetentionHours": 2'
    shown = (await client.post(MESSAGES, content=message_in("{}", rest))).json()
    assert shown["payload"] == {"rawPayload": "<a/>"}
    shop = await hooks.application("shop")
    stored = await hooks.store.get(Messages(shop.id), shown["id"])
    assert (stored.payload, stored.content_type) == (b"<a/>", "a/xml")
    assert stored.payload_until is not None
    assert abs(stored.payload_until - stored.accepted_at - 7200) < 1


async def test_while_the_database_is_away_it_says_so_and_then_goes_on(
    client: httpx.AsyncClient, hooks: Hooks, path: Path
) -> None:
    assert (await client.post(MESSAGES, content=message_in())).status_code == 202
    elsewhere = path.with_name("elsewhere")
    os.rename(path, elsewhere)  # noqa: PTH104  nothing else runs meanwhile
    for url_path in (MESSAGES, BATCH):
        body = message_in() if url_path is MESSAGES else b"[" + message_in() + b"]"
        answer = await client.post(url_path, content=body)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert int(answer.headers["retry-after"]) >= 1
    assert (await client.get("/readyz")).status_code == 503
    assert (await client.get("/healthz")).status_code == 200
    os.rename(elsewhere, path)  # noqa: PTH104  likewise
    assert (await client.post(MESSAGES, content=message_in())).status_code == 202
    await asyncio.sleep(REMEMBERED)
    assert (await client.get("/readyz")).json() == {"status": "ready"}
    assert await accepted(hooks) == 2


async def test_a_sender_that_hangs_up_in_the_middle_leaves_nothing(url: str, hooks: Hooks) -> None:
    body = message_in()
    address = urlsplit(url)
    _, writer = await asyncio.open_connection(address.hostname, address.port)
    head = f"POST {MESSAGES} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer let-me-in"
    writer.write(
        f"{head}\r\ncontent-length: {len(body) + 1}\r\n\r\n".encode() + body
    )  # one byte is missing
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    async with httpx.AsyncClient(base_url=url, **PLAIN) as client:
        assert (await client.get("/healthz")).status_code == 200
    assert await accepted(hooks) == 0


async def test_what_nobody_foresaw_is_a_500_that_tells_nothing(
    client: httpx.AsyncClient, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_args: Any) -> None:  # noqa: ANN401  whatever it is asked for
        raise ZeroDivisionError

    monkeypatch.setattr(hooks, "send_many", fail)
    answer = await client.post(MESSAGES, content=message_in())
    assert (answer.status_code, answer.json()["detail"]) == (500, "something went wrong")


async def test_a_message_goes_to_who_has_the_uid_by_then(client: httpx.AsyncClient) -> None:
    old = (await client.get("/api/v1/app/shop")).json()["id"]
    new = (await client.post("/api/v1/app", json={"name": "new"})).json()["id"]
    for patch in (client.patch, client.put):
        assert (await client.post(MESSAGES, content=message_in())).status_code == 202
        assert (await patch(f"/api/v1/app/{old}", json={"name": "x", "uid": None})).is_success
        assert (await patch(f"/api/v1/app/{new}", json={"name": "y", "uid": "shop"})).is_success
        message = (await client.post(MESSAGES, content=message_in())).json()["id"]
        assert (await client.get(f"/api/v1/app/{new}/msg/{message}")).status_code == 200
        old, new = new, old


async def test_payloads_have_to_fit_from_the_moment_that_it_is_said(
    client: httpx.AsyncClient,
) -> None:
    path = "/api/v1/event-type/order.created"
    schema = {"1": {"required": ["order"]}}
    strict = {"description": "", "schemas": schema, "validatePayload": True}
    assert (await client.post(MESSAGES, content=message_in())).status_code == 202
    assert (await client.put(path, json=strict)).status_code == 201
    assert (await client.post(MESSAGES, content=message_in())).status_code == 422
    assert (await client.patch(path, json={"validatePayload": False})).status_code == 200
    assert (await client.post(MESSAGES, content=message_in())).status_code == 202
    assert (await client.patch(path, json={"validatePayload": True})).status_code == 200
    assert (await client.post(MESSAGES, content=message_in())).status_code == 422
    assert (await client.delete(f"{path}?expunge=true")).status_code == 204
    assert (await client.post(MESSAGES, content=message_in())).status_code == 202
    new = {"name": "order.created", **strict}
    assert (await client.post("/api/v1/event-type", json=new)).status_code == 201
    assert (await client.post(MESSAGES, content=message_in())).status_code == 422

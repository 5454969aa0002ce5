"""Every operation, asked for things of somebody else: they read as if they were not there.

Whoever asks has a key to one of two environments, or to one application of it.
"""

import json
import re
from collections.abc import AsyncIterator
from itertools import product
from typing import Any

import pytest

from tarry.service.api.http.access import ALLOWS, Need
from tarry.service.api.open import operations
from tarry.service.model.key import Scope
from tests.conformance.tenants import (
    MAKING,
    MISSING,
    NAME,
    SINCE,
    STRANGERS,
    URL,
    World,
    foreign,
    named,
    world_on,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(900)]

CAPABILITIES = frozenset(Scope) - {Scope.ADMIN, Scope.WRITE, Scope.READ, Scope.SEND}
_OWN = re.compile(r'"(id|createdAt|updatedAt|key|token|url)":"[^"]*"')


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def world(db: str) -> AsyncIterator[World]:
    async with world_on(db) as world:
        yield world


async def test_what_is_somebody_elses_reads_as_if_it_were_not_there(world: World) -> None:
    key, asked, leaks = world.places["ours"].key, 0, list[str]()
    before = await world.dump(world.places["theirs"].key)
    expected: dict[tuple[str, str], tuple[int, str]] = {}
    for operation in sorted(operations(), key=lambda one: one.name in MAKING):  # these come last
        for name, names in foreign(world, operation):
            got = await world.ask(key, operation, names)
            asked += 1
            if operation.name in MAKING and name == NAME.findall(operation.path)[-1]:
                assert got[0] in (200, 201, 404, 422), operation.name
                continue
            if (one := (operation.name, name)) not in expected:
                missing = {**named(operation, world.places["ours"].ids), name: MISSING[name]}
                expected[one] = await world.ask(key, operation, missing)
            if got != expected[one] or got[0] != 404:
                leaks.append(f"{one} {names[name]}: {got}, not {expected[one]}")
    assert leaks == []
    assert asked > 1000
    assert await world.dump(world.places["theirs"].key) == before


async def test_a_token_to_one_application_opens_nothing_of_another(world: World) -> None:
    ours = world.places["ours"]
    token, _ = await world.hooks.make_key(tuple(CAPABILITIES), application=ours.ids["app_id"])
    sending, _ = await world.hooks.make_key((Scope.WRITE,), application=ours.ids["app_id"])
    before = await world.dump(world.places["theirs"].key)
    leaks = list[str]()
    for key, operation in product((token, sending), operations()):
        for which in STRANGERS:
            for kind in ("ids", "uids"):
                names = named(operation, getattr(world.places[which], kind))
                if "{app_id}" not in operation.path or names["app_id"] == ours.uids["app_id"]:
                    continue
                missing = {**names, "app_id": MISSING["app_id"]}
                expected = await world.ask(key, operation, missing)
                got = await world.ask(key, operation, names)
                if got != expected or got[0] not in (403, 404):
                    leaks.append(f"{operation.name} {which} {kind}: {got}, not {expected}")
    assert leaks == []
    assert await world.dump(world.places["theirs"].key) == before


async def test_a_scope_opens_what_it_says_and_nothing_else(world: World) -> None:
    own = world.places["ours"].ids["app_id"]
    wrong = list[str]()
    for scope in Scope:
        tenant = scope in CAPABILITIES
        key, _ = await world.hooks.make_key((scope,), application=own if tenant else None)
        names = {**MISSING, "app_id": own if tenant else MISSING["app_id"]}
        for operation in operations():
            if operation.name == "v1.authentication.logout":
                continue  # it would end the key
            status, body = await world.ask(key, operation, names)
            inside = "{app_id}" in operation.path or operation.tenants
            allowed = operation.needs in ALLOWS[scope] and (inside or not tenant)
            allowed = allowed or operation.needs is Need.NOTHING
            if allowed != (status != 403) or status == 401 or status >= 500:
                wrong.append(f"{scope} {operation.name}: {status} {body[:100]}")
    assert wrong == []


async def test_an_idempotency_key_is_one_of_its_owner_only(world: World) -> None:
    ours, theirs = world.places["ours"], world.places["theirs"]
    neighbour = world.places["neighbour"]
    again = {"headers": {"idempotency-key": "once"}}
    by_name = {operation.name: operation for operation in operations()}
    for name in ("v1.application.create", "v1.endpoint.create", "v1.message.create"):
        names = {**ours.ids, "app_id": "shop"}  # each has one of this uid
        first = await world.ask(ours.key, by_name[name], names, **again)
        other = await world.ask(theirs.key, by_name[name], names, **again)
        assert await world.ask(ours.key, by_name[name], names, **again) == first
        assert first[0] == other[0] < 300
        assert json.loads(first[1])["id"] != json.loads(other[1])["id"]
    # Nor does a token to another application get what was answered about this one.
    token, _ = await world.hooks.make_key(
        (Scope.MANAGE_ENDPOINT,), application=neighbour.ids["app_id"]
    )
    for app in ("shop", ours.ids["app_id"]):
        names = {**ours.ids, "app_id": app}
        await world.ask(ours.key, by_name["v1.endpoint.create"], names, **again)
        status, _ = await world.ask(token, by_name["v1.endpoint.create"], names, **again)
        assert status == 404


async def test_ids_in_queries_and_bodies_are_those_of_ones_own_things_only(world: World) -> None:
    ours = world.places["ours"]
    headers = {"authorization": f"Bearer {ours.key}"}
    way, op = f"/app/{ours.ids['app_id']}", world.http

    async def got(path: str, **body: Any) -> tuple[int, str]:  # noqa: ANN401  JSON
        method = "POST" if body else "GET"
        answer = await op.request(method, path, headers=headers, json=body or None)
        return answer.status_code, _OWN.sub("", answer.text)

    for which in ("neighbour", "theirs", "their-own"):
        other = world.places[which]
        for kind in ("endpoint_id", "msg_id", "app_id", "task_id", "key_id"):
            there, none = other.ids[kind], MISSING[kind]
            listed = f"{way}/attempt/msg/{ours.ids['msg_id']}?endpoint_id="
            assert await got(listed + there) == await got(listed + none)
        span = {"since": SINCE, "until": SINCE}
        if which != "neighbour":
            known = await got("/stats/usage/app", **span, appIds=[other.ids["app_id"]])
            missing = await got("/stats/usage/app", **span, appIds=[MISSING["app_id"]])
            assert known[0] == missing[0] == 422
            assert known == missing
            for body in ({**URL, "eventTypes": [other.ids["event_type_name"]]},):
                assert (await got(f"{way}/endpoint", **body))[0] == 422
            example = {"eventType": other.ids["event_type_name"]}
            way_in = f"{way}/endpoint/{ours.ids['endpoint_id']}/send-example"
            assert (await got(way_in, **example))[0] == 404
        ids = {"ids": [other.ids["msg_id"], MISSING["msg_id"]]}
        status, text = await got(f"{way}/msg/bulk-expunge", **ids)
        found = json.loads(text)["results"]
        assert found.get(other.ids["msg_id"]) == found.get(MISSING["msg_id"])
        assert status == 200

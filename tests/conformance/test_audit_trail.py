"""Every operation that changes something leaves one entry in the audit trail, and no other does."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from tarry.service.api.http.operation import Operation
from tarry.service.api.open import operations
from tarry.service.model.key import Scope
from tests.conformance.tenants import MISSING, World, named, world_on
from tests.service.api.trail import Entry

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(900)]

NO_CHANGE = {
    "v1.message.create": "it accepts a message, which is there to be listed",
    "v1.message.create-batch": "likewise",
    "v1.endpoint.send-example": "likewise",
    "v1.message.precheck": "it only looks",
    "v1.statistics.aggregate-app-stats": "it only counts",
    "v1.statistics.aggregate-event-types": "it only counts",
}
"""The operations that leave no entry although they do not GET, and why."""
LAST, LOGOUT = "v1.application.delete", "v1.authentication.logout"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def world(db: str) -> AsyncIterator[World]:
    async with world_on(db) as world:
        yield world


def in_order() -> list[Operation]:
    """All operations that do not only read: those that delete come last."""
    changing = [operation for operation in operations() if operation.method != "GET"]
    return sorted(changing, key=lambda one: (one.name == LAST, one.method == "DELETE"))


async def trail(world: World, which: str = "ours") -> list[Entry]:
    """The audit trail of an environment, newest first."""
    headers = {"authorization": f"Bearer {world.places[which].key}"}
    answer = await world.http.get("/audit?limit=250", headers=headers)
    found: list[Entry] = answer.raise_for_status().json()["data"]
    return found


def bodies(world: World) -> dict[str, object]:
    """What some operations have to be told to change something."""
    ours = world.places["ours"]
    created = datetime.fromisoformat(ours.uids["since"])
    span = {"since": (created - timedelta(hours=1)).isoformat()}  # no earlier replay covers it
    return {
        "v1.message.bulk-expunge-content": {"ids": [ours.ids["msg_id"]]},
        "v1.quota.put": {"mostWaiting": 100},
        "v1.endpoint.recover": span,
        "v1.endpoint.replay-missing": span,
        "v1.endpoint.bulk-replay": span,
    }


async def test_each_operation_that_changes_something_leaves_one_entry(world: World) -> None:
    ours = world.places["ours"]
    told, theirs = bodies(world), await trail(world, "theirs")
    left, tenant = dict[str, list[Entry]](), ""
    for operation in in_order():
        names, key = named(operation, ours.ids), ours.key
        if logs_out := operation.name == LOGOUT:
            scopes = (Scope.VIEW_BASE,)
            key, made = await world.hooks.make_key(scopes, application=ours.ids["app_id"])
            tenant = made.id
        before = await trail(world)
        headers = {"headers": {"idempotency-key": operation.name}}
        body = {"json": told[operation.name]} if operation.name in told else {}
        first = await world.ask(key, operation, names, **headers, **body)
        assert first[0] < 300, f"{operation.name}: {first}"
        if operation.idempotent and not logs_out:
            again = await world.ask(key, operation, names, **headers, **body)
            assert again == first, operation.name
        after = await trail(world)
        left[operation.name] = after[: len(after) - len(before)]
        assert after[len(after) - len(before) :] == before
    wrong = {
        name: entries
        for name, entries in left.items()
        if [entry["operation"] for entry in entries] != ([] if name in NO_CHANGE else [name])
    }
    assert wrong == {}
    assert NO_CHANGE.keys() <= left.keys()
    for (entry,) in filter(None, left.values()):
        assert entry["address"] == "127.0.0.1"
        assert entry["target"]["id"]
        kind, key_id = entry["actor"]["kind"], entry["actor"]["keyId"]
        assert key_id.startswith("key_")
        assert kind == ("tenant" if entry["operation"] == LOGOUT else "key")
        assert (key_id == tenant) == (kind == "tenant")
    assert await trail(world, "theirs") == theirs


async def test_what_is_refused_leaves_no_entry(world: World) -> None:
    key, before, refused = world.places["ours"].key, await trail(world), 0
    for operation in in_order():
        if "{" not in operation.path:
            continue
        status, _ = await world.ask(key, operation, MISSING)
        if status < 400:  # it made what was missing
            before = await trail(world)
            continue
        refused += 1
        assert await trail(world) == before, operation.name
    assert refused > 30


async def test_no_token_to_one_application_sees_the_audit_trail(world: World) -> None:
    tenants = (scope for scope in Scope if scope not in (Scope.ADMIN, Scope.WRITE, Scope.READ))
    own = world.places["ours"].ids["app_id"]
    token, _ = await world.hooks.make_key(tuple(tenants), application=own)
    sending, _ = await world.hooks.make_key((Scope.SEND,))
    for key in (token, sending):
        answer = await world.http.get("/audit", headers={"authorization": f"Bearer {key}"})
        assert (answer.status_code, answer.json()["code"]) == (403, "insufficient access")

"""Two environments with the same names for everything, and requests for foreign objects."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import httpx

from tarry.core.backoff import Fixed
from tarry.core.jitter import NoJitter
from tarry.core.policy import Policy
from tarry.service import Hooks, open_hooks
from tarry.service.api.http.operation import Operation
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.store.kinds import Environment
from tarry.service.wire.seal import generate_key
from tarry.testing.receiver import Receiver
from tests.plain_http import PLAIN

SINCE = "2026-01-01T00:00:00Z"
URL = {"url": "https://example.com/in"}
MESSAGE = {"eventType": "order.paid", "payload": {}}
BODIES: dict[str, Any] = {
    "v1.application.create": {"name": "x"},
    "v1.application.update": {"name": "x"},
    "v1.application.patch": {"name": "changed"},
    "v1.message.create": MESSAGE,
    "v1.message.create-batch": [MESSAGE],
    "v1.message.precheck": {"eventType": "order.paid"},
    "v1.statistics.aggregate-app-stats": {"since": SINCE, "until": SINCE},
    "v1.endpoint.create": URL,
    "v1.endpoint.update": URL,
    "v1.endpoint.patch": {"description": "changed"},
    "v1.event-type.create": {"name": "some.type", "description": ""},
    "v1.event-type.update": {"description": "changed"},
    "v1.event-type.patch": {"description": "changed"},
    "v1.operational-webhook.endpoint.create": URL,
    "v1.operational-webhook.endpoint.update": URL,
    "v1.operational-webhook.endpoint.update-headers": {"headers": {"x": "changed"}},
    "v1.endpoint.recover": {"since": None},
    "v1.endpoint.replay-missing": {"since": None},
    "v1.endpoint.bulk-replay": {"since": None},
    "v1.endpoint.send-example": {"eventType": "tarry.ping"},
    "v1.endpoint.update-headers": {"headers": {"x": "changed"}},
    "v1.quota.put": {"mostWaiting": 1},
}
"""What they need to be told; the others take an empty object."""
MAKING = {"v1.application.update", "v1.endpoint.update", "v1.event-type.update"}
MAKING |= {"v1.operational-webhook.endpoint.update"}
"""They create what does not exist. With a foreign id, they create an object of one's own."""
MISSING = {
    "app_id": "app_0Vb36jc38anWIdiQ27L1LH1rWdA",
    "endpoint_id": "ep_0Vb36jc38anWIdiQ27L1LH1rWdA",
    "msg_id": "msg_0Vb36jc38anWIdiQ27L1LH1rWdA",
    "attempt_id": "atmpt_0Vb36jc38anWIdiQ27L1LH1rWdA",
    "event_type_name": "no.such.type",
    "task_id": "qtask_0Vb36jc38anWIdiQ27L1LH1rWdA",
    "key_id": "key_0Vb36jc38anWIdiQ27L1LH1rWdA",
}
OF_ENVIRONMENTS = ("event_type_name", "task_id", "key_id")
STRANGERS = ("neighbour", "theirs", "their-own", "gone")
MALFORMED = ("app_", "a%20b", "%00", "%F0%9F%92%A9", "x" * 300, "%25")

Names = dict[str, str]
NAME = re.compile(r"\{(\w+)\}")


class Place:
    """One application with something of every kind in it, in one environment."""

    def __init__(self, key: str, ids: Names, uids: Names) -> None:
        self.key, self.ids, self.uids = key, ids, uids


class World:
    """What there is: `ours` is who asks, the others are not to be seen."""

    def __init__(self, url: str, hooks: Hooks, places: dict[str, Place]) -> None:
        self.url, self.hooks, self.places = url, hooks, places
        self.http = httpx.AsyncClient(base_url=f"{url}/api/v1", **PLAIN)

    async def ask(
        self,
        key: str,
        operation: Operation,
        names: Names,
        **more: Any,  # noqa: ANN401  httpx's
    ) -> tuple[int, str]:
        """The status and the body of an answer."""
        path = NAME.sub(lambda found: names[found[1]], operation.path)
        if operation.body is not None:
            body = BODIES.get(operation.name, {})
            if "since" in body and body["since"] is None:
                body = {"since": self.places["ours"].uids["since"]}
            more = {"json": body, **more}
        headers = {"authorization": f"Bearer {key}", **more.pop("headers", {})}
        answer = await self.http.request(operation.method, path, headers=headers, **more)
        return answer.status_code, answer.text

    async def dump(self, key: str) -> str:
        """All that can be seen of an environment, with a key to all of it."""
        found: dict[str, Any] = {}

        async def look(path: str) -> Any:  # noqa: ANN401  JSON
            headers = {"authorization": f"Bearer {key}"}
            answer = await self.http.get(path, headers=headers)
            found[path] = answer.json()
            return found[path].get("data")

        for path in ("/event-type", "/background-task", "/key", "/operational-webhook/endpoint"):
            await look(f"{path}?limit=250")
        await look("/environment/policy")
        for app in await look("/app?limit=250"):
            way = f"/app/{app['id']}"
            for path in ("/policy", "/quota", "/undelivered"):
                await look(way + path)
            for one in await look(f"{way}/endpoint?limit=250"):
                for path in ("/secret", "/headers", "/lane", "/policy", "/stats", "/msg"):
                    await look(f"{way}/endpoint/{one['id']}{path}")
            for one in await look(f"{way}/msg?limit=250"):
                await look(f"{way}/attempt/msg/{one['id']}")
        return json.dumps(found, sort_keys=True)


async def filled(hooks: Hooks, name: str, uid: str, receiver: Receiver) -> tuple[Names, Names]:
    """An application with an endpoint and a message that arrived: ids, and names of its own."""
    app = await hooks.application(uid)
    endpoint = await hooks.add_endpoint(app, receiver.url, uid=f"{name}-in")
    accepted = await hooks.send(app, "order.paid", {"a": 1}, event_id=f"{name}-1")
    async with asyncio.timeout(120):
        while not (attempts := await hooks.attempts(accepted.message)):  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)
    ids = {"app_id": app.id, "endpoint_id": endpoint.id, "msg_id": accepted.message.id}
    ids["attempt_id"] = attempts[0].id
    return ids, {**ids, "app_id": uid, "endpoint_id": f"{name}-in", "msg_id": f"{name}-1"}


async def completed(
    client: httpx.AsyncClient, name: str, key: str, both: tuple[Names, Names]
) -> None:
    """The rest of it: a type of events, a task, a key and an operational endpoint."""
    ids, uids = both
    headers = {"authorization": f"Bearer {key}"}

    async def made(path: str, **body: Any) -> Any:  # noqa: ANN401  JSON
        answer = await client.post(path, json=body, headers=headers)
        return answer.raise_for_status().json()

    told = {"name": f"{name}.type", "description": ""}
    if (await client.get(f"/event-type/{name}.type", headers=headers)).is_error:
        await made("/event-type", **told)
    application = (await client.get(f"/app/{ids['app_id']}", headers=headers)).json()
    way = f"/app/{ids['app_id']}/endpoint/{ids['endpoint_id']}/replay-missing"
    task = await made(way, since=application["createdAt"])
    ids["key_id"] = uids["key_id"] = (await made("/key", name=name))["id"]
    ids["task_id"] = uids["task_id"] = task["id"]
    ids["event_type_name"] = uids["event_type_name"] = f"{name}.type"
    uids["since"] = application["createdAt"]
    operational = await made("/operational-webhook/endpoint", **URL, uid=f"{name}-op")
    ids["operational"], uids["operational"] = operational["id"], f"{name}-op"


async def deleted(world: World) -> None:
    """Take away what is to be gone: an application, and an endpoint of one that stays."""
    ours, gone, key = world.places["ours"], world.places["gone"], world.places["ours"].key
    headers = {"authorization": f"Bearer {key}"}
    told = {**URL, "uid": "gone-in"}
    way = f"/app/{ours.ids['app_id']}/endpoint"
    answer = await world.http.post(way, json=told, headers=headers)
    gone.ids["endpoint_id"] = answer.json()["id"]
    for path in (
        f"{way}/gone-in",
        f"/app/{gone.ids['app_id']}",
        "/event-type/gone.type?expunge=true",
        "/operational-webhook/endpoint/gone-op",
    ):
        (await world.http.delete(path, headers=headers)).raise_for_status()


@asynccontextmanager
async def world_on(db: str) -> AsyncIterator[World]:
    quick = Policy(backoff=Fixed(0.02), jitter=NoJitter(), attempts=3, within=3600.0)
    sealed = generate_key("one")
    async with open_hooks(
        db, allow_network=("127.0.0.0/8",), policy=quick, sealing_keys=sealed
    ) as hooks:
        other = hooks.within("org_other")
        await hooks.store.put(Environment("org_other"))
        keys = {"ours": (await hooks.make_key())[0], "theirs": (await other.make_key())[0]}
        plan = {
            "ours": (hooks, "ours", "shop"),
            "neighbour": (hooks, "neighbour", "stall"),
            "theirs": (other, "theirs", "shop"),
            "their-own": (other, "their-own", "their-shop"),
            "gone": (hooks, "gone", "gone-shop"),
        }
        with Receiver() as receiver:
            async with hooks.dispatching():
                pairs = {
                    which: await filled(within, name, uid, receiver)
                    for which, (within, name, uid) in plan.items()
                }
        async with serving(await make_api(hooks, None), "127.0.0.1:0") as url:
            places: dict[str, Place] = {}
            world = World(url, hooks, places)
            async with world.http:
                for which, (within, name, _) in plan.items():
                    key = keys["ours" if within is hooks else "theirs"]
                    await completed(world.http, name, key, pairs[which])
                    places[which] = Place(key, *pairs[which])
                await deleted(world)
                yield world


def named(operation: Operation, names: Names) -> Names:
    """What stands in an operation's path: endpoints of operational webhooks are others."""
    if operation.path.startswith("/operational-webhook"):
        return {**names, "endpoint_id": names["operational"]}
    return names


def foreign(world: World, operation: Operation) -> Iterator[tuple[str, Names]]:
    """Yield the names of a request for a foreign object, each with the foreign name in it.

    Everything before that name is one's own; everything after it is foreign or one's own.
    """
    ours = named(operation, world.places["ours"].ids)
    found = NAME.findall(operation.path)
    for place, name in enumerate(found):
        for which, kind in product(STRANGERS, ("ids", "uids")):
            if which == "neighbour" and (place == 0 or name in OF_ENVIRONMENTS):
                continue  # these are one's own
            if which == "gone" and name in ("task_id", "key_id"):
                continue  # these stay
            stranger = named(operation, getattr(world.places[which], kind))
            if stranger[name] == world.places["ours"].uids.get(name):
                continue  # the same uid is one's own here
            after = {one: stranger[one] for one in found[place:]}
            yield name, {**ours, **after}
            yield name, {**ours, name: stranger[name]}
        for malformed in MALFORMED:
            yield name, {**ours, name: malformed}

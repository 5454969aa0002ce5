"""Notices that become messages of an environment's operational webhooks."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from tarry.service.dispatch.upkeep import notices as telling
from tarry.service.dispatch.upkeep.notices import NoticeSender
from tarry.service.model import operational
from tarry.service.model.application import SHARDS, Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Notice
from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.model.message import Message
from tarry.service.store.contract import Store
from tarry.service.store.kinds import AllDeliveriesOf, Endpoints, Environment, Messages, Notices
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    a_notice,
    an_application,
    an_endpoint,
    new_message,
)

pytestmark = pytest.mark.anyio

ALL = range(SHARDS)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Scene:
    """An application with an endpoint, and somebody who listens."""

    def __init__(self, store: Store, environment: str = ENVIRONMENT) -> None:
        self.store, self.news = store, NoticeSender(store)
        self.application = an_application(environment=environment, uid="shop")
        self.listening = operational.application(environment, now=NOON)

    async def set_up(self) -> None:
        for application in (self.application, self.listening):
            await self.store.put(Environment(application.environment))
            await self.store.put(application)
        self.endpoint = await self.add_endpoint(self.application, uid="main")
        self.listener = await self.add_endpoint(self.listening)

    async def add_endpoint(self, application: Application, **values: Any) -> Endpoint:  # noqa: ANN401  its fields
        return await self.store.put(an_endpoint(application, **values))

    async def note(self, kind: str, endpoint: Endpoint | None = None, **values: Any) -> Notice:  # noqa: ANN401  its fields
        notice = a_notice(endpoint or self.endpoint, kind=kind, at=NOON, **values)
        about = self.listener  # whoever it is about may be gone
        await self.store.change(
            Endpoints(about.application),
            about.id,
            lambda stored: stored,
            noting=lambda _before, _after: [notice],
        )
        return notice

    async def told(self) -> list[Message]:
        """All that was told, by id."""
        return (await self.store.page(Messages(self.listening.id, MessageFilter()), Cut())).entries


@pytest.fixture
async def scene() -> Scene:
    scene = Scene(MemoryStore())
    await scene.set_up()
    return scene


def read(message: Message) -> Any:  # noqa: ANN401  JSON
    return json.loads(message.payload or b"")


async def test_news_are_told_once(scene: Scene) -> None:
    await scene.note("endpoint.updated", facts={})
    assert await scene.news.send_once(ALL, NOON) == 1
    assert await scene.news.send_once(ALL, NOON) == 0
    (message,) = await scene.told()
    assert message.event_type == "endpoint.updated"
    assert read(message) == {
        "type": "endpoint.updated",
        "data": {
            "appId": scene.application.id,
            "appUid": "shop",
            "endpointId": scene.endpoint.id,
            "endpointUid": "main",
        },
    }
    ((to, _),) = await scene.store.read(AllDeliveriesOf(message.id))
    assert to.id == scene.listener.id


async def test_whoever_stopped_before_it_was_written_down_tells_nothing_twice(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.note("endpoint.updated")

    async def crash(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(scene.store, "mark_sent", crash)
        with pytest.raises(KeyboardInterrupt):
            await scene.news.send_once(ALL, NOON)
    assert await scene.news.send_once(ALL, NOON + 60) == 1
    assert len(await scene.told()) == 1


async def test_each_owner_tells_the_news_of_its_shards(scene: Scene) -> None:
    await scene.note("endpoint.updated")
    mine = scene.application.shard
    assert await scene.news.send_once([one for one in ALL if one != mine], NOON) == 0
    assert await scene.news.send_once([mine], NOON) == 1


async def test_many_news_are_told_piece_by_piece(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "CHUNK", 2)
    for _ in range(5):
        await scene.note("endpoint.updated")
    assert [await scene.news.send_once(ALL, NOON) for _ in range(4)] == [2, 2, 1, 0]
    assert len(await scene.told()) == 5


async def test_without_a_listener_nothing_is_kept_to_be_told(scene: Scene) -> None:
    other = an_application(environment="org_deaf")
    await scene.store.put(Environment("org_deaf"))
    await scene.store.put(other)
    await scene.note("endpoint.updated", await scene.add_endpoint(other))
    assert await scene.news.send_once(ALL, NOON) == 1
    assert await scene.store.read(Notices(unsent=True)) == []
    assert await scene.told() == []


async def test_news_of_nobody_are_told_to_nobody(scene: Scene) -> None:
    await scene.note("outbox.refused", replace(scene.endpoint, id=""))
    assert await scene.news.send_once(ALL, NOON) == 1
    assert await scene.told() == []


async def test_the_listeners_own_troubles_are_no_news_but_that_one_was_disabled(
    scene: Scene,
) -> None:
    for kind in ("message.attempt.exhausted", "endpoint.failing", "endpoint.disabled"):
        await scene.note(kind, scene.listener)
    assert await scene.news.send_once(ALL, NOON) == 3
    assert [message.event_type for message in await scene.told()] == ["endpoint.disabled"]


async def test_while_there_is_no_room_news_wait(scene: Scene) -> None:
    await scene.note("endpoint.updated")
    await scene.store.put(replace(scene.listening, most_waiting=0))
    assert await scene.news.send_once(ALL, NOON) == 0
    await scene.store.put(scene.listening)
    assert await scene.news.send_once(ALL, NOON) == 1
    assert len(await scene.told()) == 1


async def test_news_that_wait_hold_up_nobody_elses(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "CHUNK", 2)
    await scene.store.put(replace(scene.listening, most_waiting=0))
    for _ in range(4):
        await scene.note("endpoint.updated")
    other = Scene(scene.store, environment="org_other")
    await other.set_up()
    await other.note("endpoint.updated")
    assert sum([await scene.news.send_once(ALL, NOON) for _ in range(3)]) == 1
    assert len(await other.told()) == 1
    await scene.store.put(scene.listening)
    assert sum([await scene.news.send_once(ALL, NOON) for _ in range(3)]) == 4


async def data_of(scene: Scene, kind: str, **facts: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    await scene.note(kind, facts=facts)
    await scene.news.send_once(ALL, NOON)
    (message,) = await scene.told()
    data: dict[str, Any] = read(message)["data"]
    return data


async def test_a_disabled_endpoint_is_told_with_since_when_it_failed(scene: Scene) -> None:
    data = await data_of(scene, "endpoint.disabled", since=0.5, why="gone")
    assert data["failSince"] == "1970-01-01T00:00:00.500000Z"
    assert (data["trigger"], data["reason"]) == ("automatic", "gone")


async def test_one_that_never_failed_before_is_told_as_failing_since_the_notice(
    scene: Scene,
) -> None:
    data = await data_of(scene, "endpoint.disabled", why="gone")
    assert data["failSince"] == "2027-01-15T08:00:00Z"


async def test_of_one_that_somebody_disabled_it_is_not_told_since_when_it_failed(
    scene: Scene,
) -> None:
    data = await data_of(scene, "endpoint.disabled", trigger="manual")
    assert (data["failSince"], data["trigger"]) == (None, "manual")


async def test_an_enabled_endpoint_is_told_by_its_names(scene: Scene) -> None:
    data = await data_of(scene, "endpoint.enabled")
    assert data.keys() == {"appId", "appUid", "endpointId", "endpointUid"}


async def test_a_warning_is_told_with_how_far_it_is(scene: Scene) -> None:
    data = await data_of(scene, "endpoint.failing", since=1.0, share=0.5)
    assert (data["failSince"], data["share"]) == ("1970-01-01T00:00:01Z", 0.5)
    assert "reason" not in data


@pytest.mark.parametrize("kind", ["endpoint.paused", "endpoint.disabled"])
async def test_why_an_endpoint_was_stopped_is_told(scene: Scene, kind: str) -> None:
    data = await data_of(scene, kind, why="its first delivery failed")
    assert data["reason"] == "its first delivery failed"


async def test_a_delivery_is_told_with_its_last_attempt(scene: Scene) -> None:
    sent = new_message(scene.application, event_id="order-1")
    await scene.store.add([sent])
    data = await data_of(
        scene,
        "message.attempt.exhausted",
        message=sent.message.id,
        reason="all attempts used up",
        attempt="atmpt_1",
        status=503,
        attempted_at=1.0,
    )
    assert (data["msgId"], data["msgEventId"]) == (sent.message.id, "order-1")
    last = {"id": "atmpt_1", "responseStatusCode": 503, "timestamp": "1970-01-01T00:00:01Z"}
    assert data["lastAttempt"] == last
    assert data["reason"] == "all attempts used up"


async def test_a_delivery_that_was_never_tried_is_told_all_the_same(scene: Scene) -> None:
    data = await data_of(scene, "message.attempt.exhausted", message="msg_swept", reason="too old")
    assert (data["msgId"], data["msgEventId"]) == ("msg_swept", None)
    last = {"id": "", "responseStatusCode": 0, "timestamp": "2027-01-15T08:00:00Z"}
    assert data["lastAttempt"] == last


async def test_a_deleted_endpoint_is_told_with_the_uid_that_it_had(scene: Scene) -> None:
    await scene.store.delete(Endpoints(scene.application.id), scene.endpoint.id, now=NOON)
    data = await data_of(scene, "endpoint.deleted", endpoint_uid="main")
    assert (data["endpointId"], data["endpointUid"]) == (scene.endpoint.id, "main")

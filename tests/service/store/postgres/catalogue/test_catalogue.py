import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound, StoreError, StoreUnavailable
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Secret
from tarry.service.store.kinds import (
    Applications,
    Endpoints,
    Environment,
    Environments,
    PolicyVersion,
    SealedEndpoints,
)
from tarry.service.store.postgres.database.pool import Session
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import ENVIRONMENT, NOON, an_application, an_endpoint
from tarry.testing.store_contract.scene import Scene
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio


async def test_a_uid_that_two_processes_take_at_once_goes_to_one(
    store: PostgresStore, tarry_url: str
) -> None:
    other = await PostgresStore.open(tarry_url)
    answers = await asyncio.gather(
        *(either.put(an_application(uid="acme")) for either in (store, other) * 5),
        return_exceptions=True,
    )
    await other.close()
    assert sum(isinstance(answer, Application) for answer in answers) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == 9


async def test_everything_of_an_endpoint_comes_back(scene: Scene, store: PostgresStore) -> None:
    endpoint = an_endpoint(
        scene.application,
        uid="é",
        description="with 'quotes' and \N{SNOWMAN}",
        event_types=("a", "b,{}\\"),
        channels=(),
        rate=0.1,
        concurrency=3,
        fifo=True,
        blocking=True,
        policy="{}",
        headers=b"\0\xff",
        secrets=(Secret(b"\0", NOON), Secret(b"\xff")),
        metadata={"k": "\N{SNOWMAN}\0"},
        parked=((NOON, NOON + 0.1), (NOON, None)),
    )
    saved = await store.put(endpoint)
    assert replace(saved, lane=0) == endpoint
    assert await store.get(Endpoints(scene.application.id), "é") == saved
    assert await store.read(SealedEndpoints()) == [saved]


@pytest.mark.parametrize(
    "values", [{"url": "http://a\0"}, {"event_types": ("a\0",)}, {"uid": "\0"}]
)
async def test_a_nul_is_refused_wherever_it_is(
    scene: Scene, store: PostgresStore, values: dict[str, object]
) -> None:
    with pytest.raises(StoreError, match="NUL"):
        await store.put(an_endpoint(scene.application, **values))
    with pytest.raises(StoreError, match="NUL"):
        await store.put(an_application(name="a\0b"))
    with pytest.raises(StoreError, match="NUL"):
        await store.put(PolicyVersion("v1", "\0"))
    with pytest.raises(StoreError, match="NUL"):
        await store.put(Environment("org_\0"))


async def test_a_deleted_application_takes_no_more(scene: Scene, store: PostgresStore) -> None:
    await store.delete(Applications(scene.application.environment), scene.application.id, now=NOON)
    with pytest.raises(NotFound):
        await store.put(scene.application)
    with pytest.raises(NotFound):
        await store.put(an_endpoint(scene.application))


async def test_a_policy_and_the_waking_of_its_lanes_are_one_commit(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    with psycopg.connect(tarry_url) as waking:
        waking.execute("LOCK TABLE tarry.wake IN ROW EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match="lock"):
            await store.put(Environment(ENVIRONMENT, "{}"))
        waking.rollback()
    assert (await store.get(Environments(), ENVIRONMENT)).policy is None
    assert await store.woken(scene.leases) == []


async def test_a_lane_that_is_just_woken_hears_of_a_policy(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    await scene.rest()
    with psycopg.connect(tarry_url) as waking:
        waking.execute("UPDATE tarry.lane SET awake = true")
        waking.execute("INSERT INTO tarry.wake SELECT shard, number FROM tarry.lane")
        putting = asyncio.create_task(store.put(Environment(ENVIRONMENT, "{}")))
        await someone_waits(tarry_url)
        waking.commit()
    await putting
    with psycopg.connect(tarry_url) as look:
        wake_ups = look.execute("SELECT lane FROM tarry.wake").fetchall()
    assert wake_ups == [(scene.lane,)] * 2


async def test_an_application_goes_with_all_its_endpoints_by_a_few_statements(
    scene: Scene, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        await scene.add_endpoint()
    statements: list[str] = []
    for method in ("fetch", "execute", "executemany"):
        original = getattr(Session, method)

        async def noted(
            self: Session, query: str, *arguments: object, of: Callable[..., Any] = original
        ) -> object:
            statements.append(query)
            return await of(self, query, *arguments)

        monkeypatch.setattr(Session, method, noted)
    tasks = await store.delete(
        Applications(scene.application.environment), scene.application.id, now=NOON
    )
    assert len(tasks) == 21
    assert len(statements) < 12

from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest

from tarry.service.store.postgres.ingest import routes
from tarry.service.store.postgres.ingest.routes import Routes
from tarry.service.store.postgres.queries import SQL
from tarry.testing.samples import a_message, an_application, an_endpoint
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


class CountingConnection:
    """A connection that notes the names of its queries."""

    def __init__(self, connection: Any) -> None:  # noqa: ANN401  asyncpg ships no types
        self._connection = connection
        self.queries: list[str] = []

    async def fetch(self, sql: str, *arguments: object) -> list[Any]:
        self.queries += [name for name, query in SQL.items() if query == sql]
        rows: list[Any] = await self._connection.fetch(sql, *arguments)
        return rows


async def test_endpoints_are_read_once_and_again_after_a_change(
    scene: Scene, tarry_url: str
) -> None:
    routes, application = Routes(), scene.application.id
    connection = await asyncpg.connect(tarry_url)
    counting = CountingConnection(connection)
    for _ in range(3):
        tenants = await routes.tenants(counting, {application, "app_nobody"})
        assert tenants.keys() == {application}
    assert counting.queries.count("add_endpoints") == 1
    await scene.add_endpoint(event_types=("other",))
    tenants = await routes.tenants(counting, {application})
    assert len(tenants[application].routes) == 2
    assert counting.queries.count("add_endpoints") == 2
    routes.forget([application])
    await routes.tenants(counting, {application})
    assert counting.queries.count("add_endpoints") == 3
    await connection.close()


async def test_a_message_goes_where_it_is_wanted(scene: Scene, tarry_url: str) -> None:
    await scene.store.put(an_endpoint(scene.application, event_types=("other",)))
    connection = await asyncpg.connect(tarry_url)
    tenants = await Routes().tenants(connection, {scene.application.id})
    await connection.close()
    targets = tenants[scene.application.id].to(a_message(scene.application))
    assert [route.endpoint.id for route in targets] == [scene.endpoint.id]


async def test_no_more_is_remembered_than_fits(
    scene: Scene, tarry_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MOST_CACHED", 0)
    cache = Routes()
    connection = await asyncpg.connect(tarry_url)
    for _ in range(2):
        tenants = await cache.tenants(connection, {scene.application.id})
        assert tenants[scene.application.id].routes
        await scene.add_endpoint()
    await connection.close()


async def test_what_others_forget_meanwhile_is_not_missed(
    scene: Scene, tarry_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = an_application()
    await scene.store.put(second)
    await scene.store.put(an_endpoint(second))
    cache = Routes()
    connection = await asyncpg.connect(tarry_url)
    await cache.tenants(connection, {scene.application.id})

    class Meanwhile(CountingConnection):
        async def fetch(self, sql: str, *arguments: object) -> list[Any]:
            rows = await super().fetch(sql, *arguments)
            cache.forget([scene.application.id, second.id])
            return rows

    monkeypatch.setattr(routes, "MOST_CACHED", 0)
    tenants = await cache.tenants(Meanwhile(connection), {scene.application.id, second.id})
    await connection.close()
    assert {name: len(tenant.routes) for name, tenant in tenants.items()} == {
        scene.application.id: 1,
        second.id: 1,
    }


async def test_who_has_no_limit_of_their_own_has_that_of_the_store(
    scene: Scene, tarry_url: str
) -> None:
    own = an_application(most_waiting=7)
    await scene.store.put(own)
    await scene.add()
    connection = await asyncpg.connect(tarry_url)
    tenants = await Routes(most_waiting=5).tenants(connection, {scene.application.id, own.id})
    await connection.close()
    tenant = tenants[scene.application.id]
    assert (tenant.most_waiting, tenant.waiting) == (5, 1)
    assert tenants[own.id].most_waiting == 7


async def test_what_was_changed_while_somebody_added_to_it_is_held_the_next_time(
    scene: Scene, tarry_url: str
) -> None:
    routes, application = Routes(), scene.application.id
    adding, changing = [await asyncpg.connect(tarry_url) for _ in range(2)]
    change = "UPDATE tarry.application SET version = version + 1"
    await changing.execute("SET lock_timeout = '100ms'")
    async with adding.transaction():
        await routes.tenants(adding, {application})
        await changing.execute(change)
    routes.forget([application])
    async with adding.transaction():
        await routes.tenants(adding, {application})
        with pytest.raises(asyncpg.LockNotAvailableError):
            await changing.execute(change)
    for connection in (adding, changing):
        await connection.close()

"""A session's cache is never older than the transaction that uses it."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tarry.errors import SchemaMismatch, StoreUnavailable
from tarry.service.model.endpoint import Standing
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.store import SqliteStore
from tarry.testing.samples import a_message, an_application, an_endpoint
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


@pytest.fixture
def session(scene: Scene, path: Path) -> Iterator[Session]:
    assert scene.leases  # the file is there
    session = Session(path, time.time)
    yield session
    session.db.close()


async def test_an_audience_is_remembered_until_an_endpoint_changes(
    session: Session, scene: Scene, store: SqliteStore
) -> None:
    application = scene.application.id
    first = session.tenants([application])[application]
    again = session.tenants([application])[application]
    assert again.audience is first.audience
    endpoint = await store.put(an_endpoint(scene.application))
    changed = session.tenants([application])[application]
    message = a_message(application)
    assert first.audience.goals(message) == ((scene.lane, False),)
    assert changed.audience.goals(message) == ((scene.lane, False), (endpoint.lane, False))


async def test_an_audience_knows_who_wants_what(session: Session, store: SqliteStore) -> None:
    application = an_application()
    await store.put(application)
    endpoint = await store.put(an_endpoint(application, event_types=("a", "b")))
    two = await store.put(an_endpoint(application, event_types=("b",), standing=Standing.DISABLED))
    await store.put(an_endpoint(application, standing=Standing.DELETED))
    tenant = session.tenants([application.id])[application.id]
    for _ in range(2):
        assert tenant.audience.goals(a_message(application, event_type="a")) == (
            (endpoint.lane, False),
        )
        assert tenant.audience.goals(a_message(application, event_type="b")) == (
            (endpoint.lane, False),
            (two.lane, True),
        )
        assert tenant.audience.goals(a_message(application, event_type="c")) == ()


async def test_what_was_never_committed_is_forgotten(session: Session, scene: Scene) -> None:
    application = scene.application.id
    session.db.execute("BEGIN IMMEDIATE")
    session.db.execute("UPDATE application SET version = version + 1")
    session.db.execute("UPDATE endpoint SET standing = 'deleted'")
    rolled_back = session.tenants([application])[application]
    assert rolled_back.audience.goals(a_message(application)) == ()
    session.db.execute("ROLLBACK")
    session.forget()
    # Another change gives the application the version that was rolled back before.
    session.db.execute("UPDATE application SET version = version + 1")
    committed = session.tenants([application])[application]
    assert committed.audience.version == rolled_back.audience.version
    assert committed.audience.goals(a_message(application)) == ((scene.lane, False),)


async def test_who_is_unknown_is_no_tenant(session: Session, scene: Scene) -> None:
    assert list(session.tenants(["app_unknown", scene.application.id])) == [scene.application.id]
    assert session.tenants([]) == {}


async def test_each_of_several_lanes_gives_its_own_numbers(session: Session, scene: Scene) -> None:
    second = await scene.add_endpoint()
    session.db.execute("UPDATE lane SET awake = 0 WHERE number = ?", (second.lane,))
    assert session.add_to_lanes({scene.lane: 2, second.lane: 1}) == {
        scene.lane: (2, True),
        second.lane: (1, False),
    }
    assert session.add_to_lanes({scene.lane: 3}) == {scene.lane: (5, True)}


async def test_an_unknown_lane_has_no_shard(session: Session, scene: Scene) -> None:
    assert session.shard(scene.lane) == scene.application.shard
    assert session.shard(scene.lane) == scene.application.shard
    assert session.shard(999) is None


async def test_memory_is_bounded(
    session: Session, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.service.store.sqlite.database.session.MOST_CACHED", 1)
    monkeypatch.setattr("tarry.service.store.sqlite.database.session.MOST_KINDS", 1)
    second = await scene.add_endpoint()
    for _ in range(2):
        for lane in (scene.lane, second.lane):
            assert session.shard(lane) == scene.application.shard
        for kind in ("a", "b"):
            tenant = session.tenants([scene.application.id])[scene.application.id]
            assert len(tenant.audience.goals(a_message("app", event_type=kind))) == 2


async def test_a_replaced_file_is_noticed(session: Session, path: Path) -> None:
    session.require_file()
    replace(path)
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        session.require_file()


def replace(path: Path) -> None:
    """Replace a file by a copy, as restoring a backup does."""
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def test_a_session_wants_the_right_schema(path: Path) -> None:
    path.touch()
    with pytest.raises(SchemaMismatch):
        Session(path, time.time)

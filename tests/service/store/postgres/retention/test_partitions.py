from collections.abc import AsyncIterator
from itertools import pairwise

import psycopg
import pytest

from tarry.service.model import ids
from tarry.service.model.settings import DAY
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import Messages
from tarry.service.store.postgres.retention import partitions as module
from tarry.service.store.postgres.retention.partitions import (
    Partition,
    missing,
    partition,
    partitions,
)
from tests.service.store.postgres.ages import Ages, ages

pytestmark = pytest.mark.anyio

NOW = 1_800_000_000.0


@pytest.fixture
async def scene(database_url: str) -> AsyncIterator[Ages]:
    async with ages(database_url) as scene:
        yield scene


async def ahead(scene: Ages) -> list[Partition]:
    """Return the partitions that end in the future."""
    existing = await partitions(scene.store._database, "message")  # type: ignore[attr-defined]  # noqa: SLF001  what the store stands on
    return [each for each in existing if each.until_at > scene.now]


def test_partitions_follow_each_other_and_reach_far_enough() -> None:
    first = partition("message", NOW - 100, NOW + 100)
    all_partitions = [first, *missing("message", [first], now=NOW, width=7.5 * DAY)]
    for earlier, following in pairwise(all_partitions):
        assert earlier.until == following.since
    assert len({earlier.name for earlier in all_partitions}) == len(all_partitions)
    assert NOW + 15 * DAY <= all_partitions[-1].until_at < NOW + 24 * DAY
    assert missing("message", all_partitions, now=NOW, width=7.5 * DAY) == []


def test_where_there_is_none_for_now_one_begins_a_little_later() -> None:
    long_ago = partition("attempt", NOW - 9 * DAY, NOW - 2 * DAY)
    for existing in ([], [long_ago]):
        first = missing("attempt", existing, now=NOW, width=DAY)[0]
        assert first.since_at == pytest.approx(NOW + 3600, abs=1)
        assert first.since.startswith("atmpt_")


async def test_upkeep_makes_partitions_for_what_is_to_come(scene: Ages) -> None:
    await scene.sweep()
    made = await ahead(scene)
    assert made[-1].until_at > scene.now + 15 * DAY
    assert [each.until for each in made[:-1]] == [each.since for each in made[1:]]
    await scene.sweep()
    assert await ahead(scene) == made


async def test_they_are_made_also_if_all_is_kept_for_ever(scene: Ages) -> None:
    await scene.sweep(Retention())
    assert (await ahead(scene))[-1].until_at > scene.now + 60 * DAY


async def test_no_time_of_an_id_is_refused(scene: Ages) -> None:
    await scene.sweep()
    bounds = [at for each in await ahead(scene) for at in (each.since_at, each.until_at)]
    edges = [at + step for at in bounds for step in (-0.001, 0.0, 0.001)]
    put = [await scene.put(at) for at in (0.0, *edges, 4_102_444_800.0)]
    odd = await scene.put(scene.now, id="zz")
    for message in (*put, odd):
        assert await scene.store.get(Messages(scene.application.id), message.id) == message
    assert len(await scene.due(limit=1_000)) == len(put) + 1


async def test_where_something_is_already_none_is_made(scene: Ages) -> None:
    made = await ahead(scene)
    await scene.put(made[-1].until_at + DAY)
    await scene.sweep()
    assert await ahead(scene) == made
    assert scene.rows("message") == 1


async def test_a_large_default_partition_is_not_read_through(
    scene: Ages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SCANNED_BYTES", -1)
    made = await ahead(scene)
    await scene.sweep()
    assert await ahead(scene) == made


async def test_an_index_on_the_id_is_gone_along_although_a_partition_is_empty(scene: Ages) -> None:
    await scene.sweep()
    with psycopg.connect(scene.url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET plan_cache_mode = force_generic_plan")
        connection.execute("PREPARE one (text) AS SELECT * FROM tarry.message WHERE id = $1")
        plan = connection.execute("EXPLAIN (ANALYZE) EXECUTE one ('msg_1')").fetchall()
    scans = [line for (line,) in plan if "Scan using" in line]
    assert len(scans) == 1, "others were looked at"
    assert "_pkey" in scans[0]


def test_bounds_are_ids_cut_short() -> None:
    cut = partition("message", NOW, NOW + DAY)
    inside = ids.make(ids.MESSAGE, now=NOW + DAY - 0.001, entropy=b"\xff" * 19)
    assert cut.since < ids.make(ids.MESSAGE, now=NOW, entropy=bytes(19)) < inside < cut.until
    assert (cut.name, cut.until_at - cut.since_at) == ("message_1800000000", DAY)

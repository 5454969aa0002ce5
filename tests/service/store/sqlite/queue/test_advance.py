"""A task that examines many rows does so in pieces of bounded size."""

import apsw
import pytest

from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.task import Task, Work
from tarry.service.store.paged_search import LATEST_ADD_SECONDS
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.queue.advance import ROWS_READ_PER_CHANGE, Candidate
from tarry.service.store.sqlite.store import SqliteStore
from tarry.testing.samples import NOON, a_task, failed, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

LIMIT = 3


async def run(scene: Scene, task: Task) -> list[Task]:
    """Advance a task to its end; return the task as it was after each piece."""
    await scene.store.add_task(task)
    pieces = [task]
    while pieces[-1].finished_at is None:
        pieces.append(
            await scene.store.advance(pieces[-1], now=NOON, limit=LIMIT, lease=scene.lease)
        )
    return pieces


async def test_few_that_are_missing_are_found_among_many_that_are_not(scene: Scene) -> None:
    first_endpoint = await scene.add_endpoint(event_types=("rare",))
    kinds = ["rare" if n in (4, 70, 71, 99) else "common" for n in range(100)]
    await scene.store.add([new_message(scene.application, event_type=kind) for kind in kinds])
    await scene.add_endpoint(event_types=("rare",))
    late = scene.endpoints[-1]
    pieces = await run(scene, a_task(late, Work.REPLAY_MISSING))
    assert pieces[-1].done == 4
    assert len(pieces) > 100 / (LIMIT * ROWS_READ_PER_CHANGE)
    replayed, first = await scene.due(lane=late.lane), await scene.due(lane=first_endpoint.lane)
    assert [due.message for due in replayed] == [due.message for due in first]
    assert [due.seq for due in replayed] == [1, 2, 3, 4]


async def test_a_piece_looks_at_no_message_beyond_the_last_that_it_replays(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = []
    original = Candidate.is_replayed

    def counted(candidate: Candidate, task: Task, endpoint: Endpoint) -> bool:
        looked_at.append(candidate.id)
        return original(candidate, task, endpoint)

    monkeypatch.setattr(Candidate, "is_replayed", counted)
    await scene.store.add([new_message(scene.application) for _ in range(40)])
    pieces = await run(scene, a_task(await scene.add_endpoint(), Work.REPLAY_MISSING))
    assert pieces[-1].done == 40
    assert len(looked_at) == len(set(looked_at)) == 40


async def test_what_was_skipped_is_ready_again_in_pieces(scene: Scene) -> None:
    disabled = await scene.add_endpoint(standing=Standing.DISABLED)
    messages = [await scene.add() for _ in range(8)]
    added = (await scene.row(disabled)).added
    assert await scene.store.rest({disabled.lane: added}, scene.leases) == {disabled.lane}
    pieces = await run(scene, a_task(disabled, Work.REPLAY_MISSING))
    assert [piece.done for piece in pieces] == [0, 3, 6, 8]
    for message in messages:
        delivery = await scene.delivery(message, disabled)
        assert (delivery.state, delivery.reason) == (State.READY, Reason.REPLAYED)
    assert (await scene.row(disabled)).waiting == 8
    assert disabled.lane in await scene.store.woken(scene.leases)


@pytest.mark.parametrize("work", [Work.RECOVER, Work.REPLAY_MISSING, Work.BULK_REPLAY])
async def test_what_is_from_before_a_tasks_time_is_not_looked_at(scene: Scene, work: Work) -> None:
    old = [
        new_message(scene.application, accepted_at=NOON - 2 * LATEST_ADD_SECONDS)
        for _ in range(100)
    ]
    await scene.store.add([*old, *(new_message(scene.application) for _ in range(4))])
    endpoint = scene.endpoint
    if work is Work.RECOVER:
        await scene.settle(*map(failed, await scene.due(limit=200)))
    else:
        endpoint = await scene.add_endpoint()
    pieces = await run(scene, a_task(endpoint, work, since=NOON - 1))
    assert [piece.done for piece in pieces] == [0, 3, 4]
    assert (await scene.row(endpoint)).waiting == 4


async def test_a_backlog_is_discarded_in_pieces(scene: Scene) -> None:
    for n in range(7):
        await scene.add(deliver_at=NOON + n if n % 2 else None)
    pieces = await run(scene, a_task(scene.endpoint, Work.DISCARD))
    assert [piece.done for piece in pieces] == [0, 3, 6, 7]
    assert await scene.store.counts(scene.lane) == {State.DISCARDED: 7}
    assert (await scene.row()).waiting == 0


@pytest.mark.parametrize(
    "work", [Work.RECOVER, Work.REPLAY_MISSING, Work.DISCARD, Work.PURGE_CONTENT]
)
async def test_a_large_piece_is_written_with_few_statements(
    store: SqliteStore, scene: Scene, work: Work
) -> None:
    await scene.store.add([new_message(scene.application) for _ in range(300)])
    endpoint = scene.endpoint
    if work is Work.RECOVER:
        await scene.settle(*map(failed, await scene.due(limit=300)))
    if work is Work.REPLAY_MISSING:
        endpoint = await scene.add_endpoint()
    task = a_task(endpoint, work)
    await scene.store.add_task(task)
    statements: list[str] = []

    def note(_cursor: apsw.Cursor, sql: str, _values: object) -> bool:
        statements.append(sql)
        return True

    def trace(session: Session) -> None:
        session.db.exec_trace = note

    await store._threads.write(trace)  # noqa: SLF001  the connection of the thread that writes
    after = await scene.store.advance(task, now=NOON, limit=500, lease=scene.lease)
    assert after.done == 300
    assert 0 < len(statements) < 30

"""Background tasks over HTTP: long work that somebody asked for, and what came out."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.api.call import Call
from tarry.service.api.operation import Group
from tarry.service.api.paging import MOST, OrderedQuery, Page, TaskMark, cut, page
from tarry.service.api.times import Instant, instant
from tarry.service.model.task import Task, Work

group = Group("Background Tasks", "v1.background-task")


class TaskStatus(StrEnum):
    """How far a task is."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"


class TaskKind(StrEnum):
    """What a task does."""

    REPLAY = "endpoint.replay"
    RECOVER = "endpoint.recover"
    BULK_REPLAY = "endpoint.bulk-replay"
    APP_STATS = "application.stats"
    EVENT_TYPE_STATS = "event-type.aggregate"
    PURGE_CONTENT = "application.purge_content"
    # Those that programs know of and nobody can ask for here.
    BROADCAST = "message.broadcast"
    GENERATE = "sdk.generate"


KINDS: Mapping[Work, TaskKind] = {
    Work.REPLAY_MISSING: TaskKind.REPLAY,
    Work.RECOVER: TaskKind.RECOVER,
    Work.BULK_REPLAY: TaskKind.BULK_REPLAY,
    Work.APP_STATS: TaskKind.APP_STATS,
    Work.EVENT_TYPE_STATS: TaskKind.EVENT_TYPE_STATS,
    Work.PURGE_CONTENT: TaskKind.PURGE_CONTENT,
}
"""What anybody asks for. What a deletion leaves to be done is nobody's to look at."""
WORKS = {kind: work for work, kind in KINDS.items()}


class TaskStarted(Struct, rename="camel", kw_only=True):
    """A task that was put on record."""

    id: str
    status: TaskStatus
    task: TaskKind
    updated_at: Instant


class TaskOut(TaskStarted, rename="camel", kw_only=True):
    """A task; `data` is what came out in the end."""

    data: dict[str, Any]


class TaskQuery(OrderedQuery, kw_only=True):
    """Which tasks."""

    iterator: TaskMark | None = None
    status: TaskStatus | None = None
    task: TaskKind | None = None

    def fits(self, task: Task) -> bool:
        """Whether a task is one of them."""
        return task.work in KINDS and self.status in (None, _status(task))


@group.get("/background-task", name="list")
async def list_tasks(call: Call, query: TaskQuery) -> Page[TaskOut]:
    """List the environment's background tasks, the newest first."""
    return page(await _found(call, query), query, written, lambda one: one.id)


async def _found(call: Call, query: TaskQuery) -> list[Task]:
    """What a page is made of: the store is asked until there is enough that fits."""
    wanted, found = cut(query, descending=True), list[Task]()
    work = None if query.task is None else WORKS.get(query.task)
    if query.task is not None and work is None:
        return []
    finished = None if query.status is None else query.status is not TaskStatus.RUNNING
    mark, more = wanted.mark, True
    while more and len(found) < wanted.limit:
        piece = await call.hooks.store.list_tasks(
            call.who.environment,
            replace(wanted, limit=MOST, mark=mark),
            work=work,
            finished=finished,
        )
        fitting = [one for one in piece if query.fits(one)]
        found = [*fitting, *found] if wanted.back else [*found, *fitting]
        more = len(piece) == MOST
        mark = piece[0 if wanted.back else -1].id if piece else mark
    return found[-wanted.limit :] if wanted.back else found[: wanted.limit]


@group.get("/background-task/{task_id}")
async def get(call: Call) -> TaskOut:
    """Get a background task."""
    known_as = call.name("task_id", "task")
    task = await call.hooks.store.get_task(known_as)
    if task.environment != call.who.environment or task.work not in KINDS:
        raise NotFound("task", known_as)
    return written(task)


def started(task: Task) -> TaskStarted:
    """What is answered to who asked for a task."""
    return TaskStarted(
        id=task.id,
        status=_status(task),
        task=KINDS[task.work],
        updated_at=instant(task.finished_at or task.created_at),
    )


def written(task: Task) -> TaskOut:
    """What is answered about a task."""
    came_out = {} if task.finished_at is None else task.data
    told = came_out if task.failed is None else {"error": task.failed}
    return TaskOut(
        id=task.id,
        status=_status(task),
        task=KINDS[task.work],
        updated_at=instant(task.finished_at or task.created_at),
        data=told,
    )


def _status(task: Task) -> TaskStatus:
    if task.finished_at is None:
        return TaskStatus.RUNNING
    return TaskStatus.FINISHED if task.failed is None else TaskStatus.FAILED

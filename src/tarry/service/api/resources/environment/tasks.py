"""Operations on background tasks: long work that a request started, and its result."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.api.http.operation import Group
from tarry.service.api.http.paging import MOST_PER_PAGE, OrderedQuery, Page, TaskMark, cut, page
from tarry.service.api.http.times import Instant, instant
from tarry.service.api.resources.call import Call
from tarry.service.model.task import Task, Work
from tarry.service.store.kinds import Tasks

group = Group("Background Tasks", "v1.background-task")


class TaskStatus(StrEnum):
    """The status of a task."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"


class TaskKind(StrEnum):
    """The kind of a task."""

    REPLAY = "endpoint.replay"
    RECOVER = "endpoint.recover"
    BULK_REPLAY = "endpoint.bulk-replay"
    APP_STATS = "application.stats"
    EVENT_TYPE_STATS = "event-type.aggregate"
    PURGE_CONTENT = "application.purge_content"
    # Kinds that clients know, but that no operation of tarry starts.
    BROADCAST = "message.broadcast"
    GENERATE = "sdk.generate"


KIND_OF_WORK: Mapping[Work, TaskKind] = {
    Work.REPLAY_MISSING: TaskKind.REPLAY,
    Work.RECOVER: TaskKind.RECOVER,
    Work.BULK_REPLAY: TaskKind.BULK_REPLAY,
    Work.APP_STATS: TaskKind.APP_STATS,
    Work.EVENT_TYPE_STATS: TaskKind.EVENT_TYPE_STATS,
    Work.PURGE_CONTENT: TaskKind.PURGE_CONTENT,
}
"""The tasks that a request can start. The tasks that clean up after a deletion are not shown."""
WORKS = {kind: work for work, kind in KIND_OF_WORK.items()}


class TaskStarted(Struct, rename="camel", kw_only=True):
    """A stored task."""

    id: str
    status: TaskStatus
    task: TaskKind
    updated_at: Instant


class TaskOut(TaskStarted, rename="camel", kw_only=True):
    """A task; `data` is its result when it has finished."""

    data: dict[str, Any]


class TaskQuery(OrderedQuery, kw_only=True):
    """Which tasks to list."""

    iterator: TaskMark | None = None
    status: TaskStatus | None = None
    task: TaskKind | None = None

    def fits(self, task: Task) -> bool:
        """Return whether a task matches the query, apart from its kind."""
        return task.work in KIND_OF_WORK and self.status in (None, _status(task))


@group.get("/background-task", name="list")
async def list_tasks(call: Call, query: TaskQuery) -> Page[TaskOut]:
    """List the environment's background tasks, newest first."""
    return page(await _matching(call, query), query, task_out, lambda task: task.id)


async def _matching(call: Call, query: TaskQuery) -> list[Task]:
    """Read tasks from the store until enough of them match the query for one page."""
    page_cut, matching = cut(query, descending=True), list[Task]()
    work = None if query.task is None else WORKS.get(query.task)
    if query.task is not None and work is None:
        return []
    finished = None if query.status is None else query.status is not TaskStatus.RUNNING
    mark, is_more = page_cut.mark, True
    while is_more and len(matching) < page_cut.limit:
        piece = (
            await call.hooks.store.page(
                Tasks(call.caller.environment, work=work, finished=finished),
                replace(page_cut, limit=MOST_PER_PAGE, mark=mark),
            )
        ).entries
        matching_in_piece = [task for task in piece if query.fits(task)]
        matching = (
            [*matching_in_piece, *matching] if page_cut.back else [*matching, *matching_in_piece]
        )
        is_more = len(piece) == MOST_PER_PAGE
        mark = piece[0 if page_cut.back else -1].id if piece else mark
    return matching[-page_cut.limit :] if page_cut.back else matching[: page_cut.limit]


@group.get("/background-task/{task_id}")
async def get(call: Call) -> TaskOut:
    """Get a background task."""
    known_as = call.name("task_id", "task")
    task = await call.hooks.store.get(Tasks(call.caller.environment), known_as)
    if task.work not in KIND_OF_WORK:
        raise NotFound("task", known_as)
    return task_out(task)


def task_started(task: Task) -> TaskStarted:
    """Return the response to a request that started a task."""
    return TaskStarted(
        id=task.id,
        status=_status(task),
        task=KIND_OF_WORK[task.work],
        updated_at=instant(task.finished_at or task.created_at),
    )


def task_out(task: Task) -> TaskOut:
    """Return a task as a response shows it."""
    result = {} if task.finished_at is None else task.data
    data = result if task.failed is None else {"error": task.failed}
    return TaskOut(
        id=task.id,
        status=_status(task),
        task=KIND_OF_WORK[task.work],
        updated_at=instant(task.finished_at or task.created_at),
        data=data,
    )


def _status(task: Task) -> TaskStatus:
    """Return whether a task is running, finished or failed."""
    if task.finished_at is None:
        return TaskStatus.RUNNING
    return TaskStatus.FINISHED if task.failed is None else TaskStatus.FAILED

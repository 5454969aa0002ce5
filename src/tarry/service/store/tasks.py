"""The contract for tasks: save long work, and do it a piece at a time."""

from collections.abc import Collection, Sequence
from typing import Any, Protocol  # the result of a task is JSON

from tarry.service.model.lane import Lease
from tarry.service.model.task import FIRST_TENANT, IN_PIECES, Failure, Task, Tenant, Work


class Tasks(Protocol):
    """Tasks, for the callers that add them and the workers that do them."""

    async def add_task(self, task: Task, *, most_pending: int | None = None) -> Task:
        """Save a task, wake its lane if it has one, and return the task.

        With `most_pending`, a replay that another replay covers is not saved; the covering one is
        returned instead (see `standing_for`). The check and the write are atomic.
        """

    async def get_task(self, task: str) -> Task:
        """Return the task with this id; NotFound if there is none."""

    async def tasks(self, application: str) -> list[Task]:
        """Return an application's tasks, newest first."""

    async def next_task(
        self,
        shards: Sequence[int],
        works: Collection[Work] = IN_PIECES,
        *,
        after: Tenant = FIRST_TENANT,
    ) -> Task | None:
        """Return the oldest unfinished task of these kinds, of the next tenant in these shards.

        Tenants are in the order of `Task.tenant`. The next tenant is the first one after `after`
        that has such a task. None if there is no such tenant after it.
        """

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        """Do a task for at most `limit` more deliveries and save its progress, in one commit.

        RECOVER makes FAILED deliveries READY again (reason REPLAYED, attempts 0, no memory and no
        due time, `tries` kept, `accepted_at` now so that the age starts again). REPLAY_MISSING and
        BULK_REPLAY do the same for messages that fit `Task.replays`, still have their payload and
        need not wait for their `deliver_at`. If the endpoint wants such a message and has no
        delivery of it, it gets a new one: READY, REPLAYED and accepted now. DISCARD ends live
        deliveries as DISCARDED and removes resends. PURGE_CONTENT expunges an application's
        messages.

        Messages are processed in the order of acceptance, and by id within one instant. Messages
        outside the task's time range should cost nothing, however many there are. The work
        continues from the stored cursor, not from the one passed in. A finished task does not
        change. Under a stale lease nothing is done.
        """

    async def finish(
        self, task: Task, result: dict[str, Any] | Failure, *, now: float, lease: Lease
    ) -> Task:
        """Finish a task with its result, or with the reason why it failed; see `Task.finished`.

        A finished task does not change. Under a stale lease nothing is done.
        """

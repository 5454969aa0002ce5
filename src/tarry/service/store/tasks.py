"""What a store must do of long work: keep it on record, and do it a piece at a time."""

from collections.abc import Collection, Sequence
from typing import Any, Protocol  # what comes out of a task is JSON

from tarry.service.model.lane import Lease
from tarry.service.model.task import FIRST_TENANT, IN_PIECES, Task, Tenant, Work


class Tasks(Protocol):
    """Tasks, for who asks for them and for who does them."""

    async def add_task(self, task: Task, *, most_pending: int | None = None) -> Task:
        """Put a task on record, wake its lane, if it has one, and return the task.

        With `most_pending` a replay that another covers is not put on record, and that other one
        is returned; see `standing_for`. No other call gets in between.
        """

    async def get_task(self, task: str) -> Task:
        """A task by id; NotFound if there is none."""

    async def tasks(self, application: str) -> list[Task]:
        """An application's tasks, the newest first."""

    async def task(
        self,
        shards: Sequence[int],
        works: Collection[Work] = IN_PIECES,
        *,
        after: Tenant = FIRST_TENANT,
    ) -> Task | None:
        """The oldest task of these works to be done, of the next tenant in these shards.

        Tenants come in the order of `Task.tenant`; the next is the first behind `after` that has
        such a task. None if there is no such tenant behind it.
        """

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        """Do at most `limit` deliveries more of a task and note how far it came, in one commit.

        RECOVER makes FAILED deliveries READY again (reason REPLAYED, attempts 0, memory and due
        time gone, `tries` kept, `accepted_at` now: its age counts anew). REPLAY_MISSING and
        BULK_REPLAY do so to messages that fit `Task.replays`, still have their payload and need not
        wait for their `deliver_at`; one that the endpoint wants and has no delivery of gets a new
        one, READY and REPLAYED and accepted now. DISCARD ends live ones as DISCARDED and removes
        resends; PURGE_CONTENT expunges the messages of an application.

        Messages are gone through as they were accepted, those of one instant by id. What is not of
        the task's time should cost nothing, however much it is. It goes on from the cursor that is
        stored, whatever the one handed in; a finished task stays as it is. Nothing happens under a
        stale lease.
        """

    async def finish(self, task: Task, data: dict[str, Any], *, now: float, lease: Lease) -> Task:
        """Finish a task with what came out; see `Task.finished`.

        A finished task stays as it is. Nothing happens under a stale lease.
        """

    async def give_up(self, task: Task, why: str, *, now: float, lease: Lease) -> Task:
        """Finish a task that cannot be done, and say why; see `Task.given_up`.

        A finished task stays as it is. Nothing happens under a stale lease.
        """

"""Long work on a lane's deliveries in the memory store, a piece at a time."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import assert_never

from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.model.application import shard_of
from tarry.service.model.delivery import LIVE, Delivery, Reason, State
from tarry.service.model.lane import Lease
from tarry.service.model.message import Message
from tarry.service.model.task import Task, Work
from tarry.service.store.memory.data import Data
from tarry.service.store.memory.lane import Lane
from tarry.service.store.memory.queue import ended

Step = tuple[str, Delivery]
"""Where the cursor is afterwards, and the delivery as it will be."""


class MemoryTasks:
    """The parts of `contract.Queue` and `contract.Catalogue` about tasks."""

    _data: Data

    async def add_task(self, task: Task) -> None:
        """Put a task on record and wake its lane."""
        self._data.tasks[task.id] = task
        self._data.wake(self._data.lanes[task.lane])

    async def get_task(self, task: str) -> Task:
        """A task by id."""
        if task not in self._data.tasks:
            raise NotFound("task", task)
        return self._data.tasks[task]

    async def tasks(self, application: str) -> list[Task]:
        """An application's tasks, the newest first."""
        tasks = (task for task in self._data.tasks.values() if task.application == application)
        return sorted(tasks, key=_order, reverse=True)

    async def task(self, shards: Sequence[int]) -> Task | None:
        """The oldest task that is not finished and whose lane is in one of these shards."""
        tasks = (
            task
            for task in self._data.tasks.values()
            if task.finished_at is None and shard_of(task.application) in shards
        )
        return min(tasks, key=_order, default=None)

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        """Do at most `limit` deliveries more of a task."""
        lane = self._data.held(task.lane, [lease])
        if lane is None:
            return task
        task = await self.get_task(task.id)
        if task.finished_at is not None:
            return task
        steps = list(islice(self._steps(task, lane, now), limit))
        for _, delivery in steps:
            self._do(lane, delivery)
        if task.work is Work.DISCARD:
            lane.resends.clear()
        task = replace(
            task,
            cursor=steps[-1][0] if steps else task.cursor,
            done=task.done + len(steps),
            finished_at=now if len(steps) < limit else None,
        )
        self._data.tasks[task.id] = task
        return task

    def _steps(self, task: Task, lane: Lane, now: float) -> Iterator[Step]:
        match task.work:
            case Work.RECOVER:
                for delivery in self._behind(task, lane):
                    if delivery.state is State.FAILED:
                        yield str(delivery.seq), _again(delivery, now)
            case Work.DISCARD:
                for delivery in self._behind(task, lane):
                    if delivery.state in LIVE:
                        discarded = ended(delivery, State.DISCARDED, Reason.DISCARDED, now)
                        yield str(delivery.seq), discarded
            case Work.REPLAY_MISSING:
                yield from self._missing(task, lane, now)
            case _:
                assert_never(task.work)

    def _behind(self, task: Task, lane: Lane) -> Iterator[Delivery]:
        for seq in range(int(task.cursor or 0) + 1, lane.added + 1):
            delivery = lane.deliveries.get(seq)
            if delivery and _concerns(task, self._data.messages[delivery.message]):
                yield delivery

    def _missing(self, task: Task, lane: Lane, now: float) -> Iterator[Step]:
        seq = lane.added
        for message in sorted(self._data.messages.values(), key=lambda message: message.id):
            if message.application != task.application or message.id <= task.cursor:
                continue
            if not _concerns(task, message):
                continue
            there = [known for place, known in self._data.places[message.id] if place is lane]
            if there and lane.deliveries[there[0]].state is State.SKIPPED:
                yield message.id, _again(lane.deliveries[there[0]], now)
            elif not there and lane.endpoint.wants(message.event_type, message.channels):
                seq += 1
                fresh = Delivery(lane=lane.number, seq=seq, message=message.id, accepted_at=now)
                yield message.id, _again(fresh, now)

    def _do(self, lane: Lane, delivery: Delivery) -> None:
        if delivery.seq in lane.deliveries:
            lane.put(delivery)
        else:
            self._data.deliver(lane, delivery)
        if delivery.state in LIVE:
            self._data.stir(lane)


def _order(task: Task) -> tuple[float, str]:
    return (task.created_at, task.id)


def _concerns(task: Task, message: Message) -> bool:
    within = task.until is None or message.accepted_at < task.until
    return within and message.accepted_at >= task.since


def _again(delivery: Delivery, now: float) -> Delivery:
    return replace(
        delivery,
        state=State.READY,
        reason=Reason.REPLAYED,
        attempts=0,
        memory=None,
        due_at=None,
        accepted_at=now,
        ended_at=None,
    )

"""Tasks in the memory store, done a piece at a time."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any, assert_never

from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.model.application import shard_of
from tarry.service.model.audit import Action, task_target
from tarry.service.model.delivery import LIVE, STUCK, Delivery, Reason, State
from tarry.service.model.lane import Lease
from tarry.service.model.message import Message
from tarry.service.model.replay import SoFar
from tarry.service.model.task import (
    FIRST_TENANT,
    IN_PIECES,
    REPLAYS,
    Failure,
    Piece,
    Task,
    Tenant,
    Work,
    behind,
    standing_for,
)
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.memory.data import Data
from tarry.service.store.memory.lane import Lane
from tarry.service.store.memory.queue import ended

Step = tuple[str, Delivery | Message]
"""The cursor after a step, and the delivery or the message as the step changes it."""


class MemoryTasks(RecordsByKind):
    """Tasks: adding them, and doing them a piece at a time."""

    _data: Data

    async def add_task(
        self, task: Task, *, most_pending: int | None = None, by: Action | None = None
    ) -> Task:
        """Save a task and wake its lane; return the task."""
        result = task
        if most_pending is not None:
            pending = self._pending(task.lane)
            result = standing_for(task, pending, pending=len(pending), most=most_pending)
        if task.lane:
            self._data.wake(self._data.lanes[task.lane])
        if result is task:
            self._data.tasks[task.id] = task
            self._data.write_entry(by, task_target(task))
        return result

    async def _task(self, environment: str, task: str) -> Task:
        """Return the environment's task; NotFound if it has none with this id."""
        stored = self._data.tasks.get(task)
        if stored is None or stored.environment != environment:
            raise NotFound("task", task)
        return stored

    async def _tasks_of(self, application: str) -> list[Task]:
        """Return an application's tasks, newest first."""
        tasks = (task for task in self._data.tasks.values() if task.application == application)
        return sorted(tasks, key=_order, reverse=True)

    async def next_task(
        self,
        shards: Sequence[int],
        works: Collection[Work] = IN_PIECES,
        *,
        after: Tenant = FIRST_TENANT,
    ) -> Task | None:
        """Return the oldest unfinished task of these kinds, of the next tenant in these shards."""
        tasks = (
            task
            for task in self._data.tasks.values()
            if task.finished_at is None
            and task.work in works
            and shard_of(task.application) in shards
            and task.tenant > after
        )
        return min(tasks, key=lambda task: (task.tenant, _order(task)), default=None)

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        """Do a task for at most `limit` more deliveries."""
        if not self._holds(task, lease):
            return task
        task = await self._task(task.environment, task.id)
        if task.finished_at is not None:
            return task
        steps = list(islice(self._steps(task, now), limit))
        for _, changed in steps:
            self._apply(changed)
        if task.work is Work.DISCARD:
            self._data.lanes[task.lane].resends.clear()
        cursor = steps[-1][0] if steps else task.cursor
        task = task.after(Piece(len(steps), cursor, last=len(steps) < limit), now)
        self._data.tasks[task.id] = task
        return task

    async def finish(
        self, task: Task, result: dict[str, Any] | Failure, *, now: float, lease: Lease
    ) -> Task:
        """Finish a task with its result, or with the reason why it failed."""
        if not self._holds(task, lease):
            return task
        stored = self._data.tasks[task.id]
        if stored.finished_at is None:
            stored = self._data.tasks[task.id] = stored.finished(result, now)
        return stored

    def _pending(self, lane: int) -> list[Task]:
        """Return a lane's unfinished replays, oldest first."""
        tasks = (
            task
            for task in self._data.tasks.values()
            if task.finished_at is None and task.lane == lane and task.work in REPLAYS
        )
        return sorted(tasks, key=_order)

    def _holds(self, task: Task, lease: Lease) -> bool:
        """Return whether a lease is valid and is for the task's shard."""
        return lease.shard == shard_of(task.application) and self._data.holds(lease)

    def _steps(self, task: Task, now: float) -> Iterator[Step]:
        """Yield the changes that remain of a task, each with the cursor after it."""
        match task.work:
            case Work.RECOVER:
                failed = (
                    delivery
                    for delivery in self._deliveries_after_cursor(task, STUCK)
                    if delivery.can_be_recovered
                )
                return ((str(delivery.seq), _ready_again(delivery, now)) for delivery in failed)
            case Work.DISCARD:
                return (
                    (str(delivery.seq), ended(delivery, State.DISCARDED, Reason.DISCARDED, now))
                    for delivery in self._deliveries_after_cursor(task, LIVE)
                )
            case Work.ERASE:
                return (
                    (str(delivery.seq), ended(delivery, State.DISCARDED, Reason.ERASED, now))
                    for delivery in self._deliveries_after_cursor(task, LIVE)
                    if self._data.is_erased(self._data.messages[delivery.message].sealed_with)
                )
            case Work.REPLAY_MISSING | Work.BULK_REPLAY:
                return self._replay_steps(task, now)
            case Work.PURGE_CONTENT:
                full = (message for message in self._messages(task) if message.payload is not None)
                return (
                    (_cursor_after(message), replace(message, payload=None, sealed_with=None))
                    for message in full
                )
            case Work.APP_STATS | Work.EVENT_TYPE_STATS:
                return iter(())
            case _:
                assert_never(task.work)

    def _deliveries_after_cursor(self, task: Task, states: Collection[State]) -> Iterator[Delivery]:
        """Yield the deliveries in these states that a task has not reached yet, in order."""
        lane = self._data.lanes[task.lane]
        for seq in range(int(task.cursor or 0) + 1, lane.added + 1):
            delivery = lane.deliveries.get(seq)
            if delivery is None or delivery.state not in states:
                continue
            if _is_in_range(task, self._data.messages[delivery.message]):
                yield delivery

    def _messages(self, task: Task) -> Iterator[Message]:
        """Yield the application's messages that the task has not passed yet, oldest first."""
        for message in sorted(self._data.messages.values(), key=_position):
            is_next = message.application == task.application and _position(message) > task.place
            if is_next and _is_in_range(task, message):
                yield message

    def _sendable(self, task: Task, now: float) -> Iterator[Message]:
        """Return the messages that have their payload and need not wait for their `deliver_at`."""
        for message in self._messages(task):
            whole = message.payload is not None and not self._data.is_erased(message.sealed_with)
            if whole and (message.deliver_at or now) <= now:
                yield message

    def _replay_steps(self, task: Task, now: float) -> Iterator[Step]:
        """Yield a replay's changes: deliveries made ready again, or created if missing."""
        lane = self._data.lanes[task.lane]
        seq = lane.added
        for message in self._sendable(task, now):
            delivery = self._delivery_in(lane, message)
            if not task.replays.fits(message, self._so_far(lane, message)):
                continue
            if delivery is not None:
                yield _cursor_after(message), _ready_again(delivery, now)
            elif lane.endpoint.wants(message.event_type, message.channels):
                seq += 1
                yield _cursor_after(message), _new_delivery(lane, seq, message, now)

    def _delivery_in(self, lane: Lane, message: Message) -> Delivery | None:
        """Return a message's delivery in a lane; None if there is none."""
        positions = self._data.positions.get(message.id, ())
        return next((lane.deliveries[seq] for holder, seq in positions if holder is lane), None)

    def _so_far(self, lane: Lane, message: Message) -> SoFar:
        """Return how far a message's delivery in a lane has come, to compare with a filter."""
        delivery = self._delivery_in(lane, message)
        attempts = self._data.attempts.get(message.id, ())
        in_lane = (attempt for attempt in attempts if attempt.lane == lane.number)
        last = max(in_lane, key=lambda attempt: attempt.id, default=None)
        status_class = None if last is None else (last.status or 0) // 100 * 100
        return SoFar(None if delivery is None else delivery.state, status_class)

    def _apply(self, changed: Delivery | Message) -> None:
        """Save a delivery or message that a task changed; wake the lane of a live delivery."""
        if isinstance(changed, Message):
            self._data.messages[changed.id] = changed
            return
        lane = self._data.lanes[changed.lane]
        if changed.seq in lane.deliveries:
            lane.put(changed)
        else:
            self._data.deliver(lane, changed)
        if changed.state in LIVE:
            self._data.wake_if_resting(lane)


def _order(task: Task) -> tuple[float, str]:
    """Return the key by which tasks are sorted: time of creation, then id."""
    return (task.created_at, task.id)


def _position(message: Message) -> tuple[float, str]:
    """Return the key by which messages are sorted: time of acceptance, then id."""
    return message.accepted_at, message.id


def _cursor_after(message: Message) -> str:
    """Return the cursor of a task that has processed everything up to a message."""
    return behind(message.accepted_at, message.id)


def _is_in_range(task: Task, message: Message) -> bool:
    """Return whether a message was accepted in the time that a task covers."""
    return task.since <= message.accepted_at < task.end


def _new_delivery(lane: Lane, seq: int, message: Message, now: float) -> Delivery:
    """Return a delivery, ready to send, of a message that had none in this lane."""
    delivery = Delivery(lane=lane.number, seq=seq, message=message.id, accepted_at=now)
    return _ready_again(delivery, now)


def _ready_again(delivery: Delivery, now: float) -> Delivery:
    """Return the delivery as ready, without what earlier attempts left behind."""
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

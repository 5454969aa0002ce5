"""The workers of a history: each is a real dispatcher in a simulated process of its own.

A worker that ends because the store could not be reached is started again a second later, as a
supervisor of the operating system would do.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Protocol

from tarry.errors import StoreError
from tarry.service.dispatch.dispatcher import Dispatcher
from tarry.service.hooks import Hooks
from tarry.service.model.settings import Limits
from tarry.service.wire.exchange import TIMEOUT
from tests.simulation.endpoints import Endpoints
from tests.simulation.log import Crashed, Fault, Log, Stalled
from tests.simulation.loop import Process, SimulatedLoop
from tests.simulation.planted.bug import Bug
from tests.simulation.steps import Conditions
from tests.simulation.store_link import StoreLink, Trouble

STARTED_AGAIN_AFTER = 1.0
HANDED_OVER, NOBODY_AT_WORK = "handed over", "nobody at work"


class Base(Protocol):
    """The base of the store."""

    def forget(self, worker: str) -> None:
        """Forget a killed worker, by its id."""


Connect = Callable[[Process, Trouble], StoreLink]
"""Connects a process to the store, through the faults of its connection."""


class Worker:
    """One dispatcher and its process."""

    def __init__(self, process: Process, trouble: Trouble, link: StoreLink) -> None:
        self.process, self.trouble, self.link = process, trouble, link
        self.dispatcher: Dispatcher
        self.running: asyncio.Task[None]
        self.is_leaving = False

    @property
    def is_at_work(self) -> bool:
        """Whether it was neither killed nor stopped, and has not ended."""
        return not (self.process.is_dead or self.is_leaving or self.running.done())


class Workforce:
    """Starts, stops, suspends and kills workers. A number means one of those at work, in turn.

    `reclaimed_after` is how long a shard may stay without an owner that does its work, once its
    last one is gone: until the lease ends and another worker looks.
    """

    def __init__(  # noqa: PLR0913  what workers are made from
        self,
        conditions: Conditions,
        *,
        loop: SimulatedLoop,
        log: Log,
        endpoints: Endpoints,
        hooks: Hooks,
        connect: Connect,
        bug: Bug,
        base: Base,
    ) -> None:
        self._conditions, self._loop, self._log = conditions, loop, log
        self._endpoints, self._hooks, self._connect = endpoints, hooks, connect
        self._bug, self._base = bug, base
        self.workers: list[Worker] = []
        self.reclaimed_after = conditions.lease * 4 / 3 + 1
        # A shard is handed to another worker once it has no request in flight.
        self._handed_over_after = TIMEOUT + conditions.lease / 3
        self._nobody_since: float | None = None
        self._is_for_one = conditions.store == "sqlite"

    @property
    def at_work(self) -> list[Worker]:
        """The workers that can be killed or stopped."""
        return [worker for worker in self.workers if worker.is_at_work]

    def find(self, number: int) -> Worker | None:
        """Return the worker that a number means, if any is at work."""
        at_work = self.at_work
        return at_work[number % len(at_work)] if at_work else None

    def start(self) -> None:
        """Start one more worker, unless the store allows only one and has it."""
        if self._is_for_one and self.at_work:
            return
        conditions, number = self._conditions, len(self.workers)
        process, trouble = Process(f"worker {number}"), Trouble()
        drift = conditions.drifts[number] if number < len(conditions.drifts) else 0.0
        draws = Random(f"{conditions.seed} {process.name}")
        worker = Worker(process, trouble, self._connect(process, trouble))
        worker.dispatcher = Dispatcher(
            worker.link.store,
            self._endpoints.sender(process),
            seals=self._hooks.seals,
            egress=self._hooks.egress,
            limits=self._bug.limits(
                Limits(
                    look=conditions.look,
                    lease=conditions.lease,
                    keep_up=conditions.keep_up,
                    watch=conditions.watch,
                )
            ),
            source=lambda: self._loop.time() * (1 + drift),
            draw=draws.random,
            chance=draws.randbytes,
        )
        worker.running = self._loop.start(process, worker.dispatcher.run())
        worker.running.add_done_callback(
            lambda ended: self._ended(worker, ended), context=self._loop.world.context
        )
        self.workers.append(worker)
        now = self._loop.time()
        if self._nobody_since is not None:
            self._fault(NOBODY_AT_WORK, self._nobody_since, now + self.reclaimed_after)
            self._nobody_since = None
        elif number >= conditions.workers:
            self._fault(HANDED_OVER, now, now + self._handed_over_after)

    def kill(self, number: int) -> None:
        """End a worker at once."""
        worker = self.find(number)
        if worker is not None:
            self._loop.kill(worker.process)
            worker.link.cut()
            self._forget(worker)
            self._gone("killed", worker)
            if self._is_for_one:
                self._loop.later_in(self._loop.world, STARTED_AGAIN_AFTER, self.start)

    def stop(self, number: int) -> None:
        """Stop a worker in order."""
        worker = self.find(number)
        if worker is not None and not worker.process.is_suspended:
            worker.is_leaving = True
            self._loop.soon_in(worker.process, worker.dispatcher.stop)
            now = self._loop.time()
            self._fault(HANDED_OVER, now, now + self._handed_over_after + self.reclaimed_after)
            self._count(now)

    def suspend(self, number: int, seconds: float) -> None:
        """Suspend a worker for `seconds`."""
        worker = self.find(number)
        if worker is not None and not worker.process.is_suspended:
            loop, now = self._loop, self._loop.time()
            loop.suspend(worker.process)
            loop.later_in(loop.world, seconds, loop.go_on, worker.process)
            self._fault("suspended", now, now + seconds + self._conditions.lease / 3 + 1, worker)

    def recover(self) -> None:
        """Resume suspended workers, repair all connections, and start a worker if there is none."""
        for worker in self.workers:
            worker.trouble.end()
            self._loop.go_on(worker.process)
        if not self.at_work:
            self.start()

    def report_stalls(self) -> None:
        """Log the lanes that the watchdogs have found."""
        for worker in self.workers:
            if worker.dispatcher.ready.is_set():
                stalled = worker.dispatcher.context.counters.stalled
                if stalled:
                    name = worker.process.name
                    self._log.add(Stalled(at=self._loop.time(), worker=name, lanes=stalled))

    def end(self) -> None:
        """Cancel the running tasks, so that nothing of them is left behind."""
        for worker in self.workers:
            self._loop.revive(worker.process)
            worker.running.cancel()
        self._loop.run_for(0.0)

    def _forget(self, worker: Worker) -> None:
        for known_as in worker.link.worker_ids:
            self._base.forget(known_as)

    def _gone(self, kind: str, worker: Worker) -> None:
        now = self._loop.time()
        renewed_at = max(now, worker.link.leases_until)  # by a call that is on its way
        self._fault(kind, now, renewed_at + self.reclaimed_after, worker)
        self._count(now)

    def _count(self, now: float) -> None:
        if not self.at_work and self._nobody_since is None:
            self._nobody_since = now

    def _ended(self, worker: Worker, running: asyncio.Task[None]) -> None:
        if running.cancelled() or worker.process.is_dead:
            return
        error = running.exception()
        if error is None:
            return
        if not isinstance(error, StoreError):
            self._log.add(Crashed(self._loop.time(), worker.process.name, repr(error)))
        self._loop.kill(worker.process)
        self._forget(worker)
        self._gone("ended", worker)
        self._loop.later_in(self._loop.world, STARTED_AGAIN_AFTER, self.start)

    def _fault(self, kind: str, at: float, until: float, worker: Worker | None = None) -> None:
        process = None if worker is None else worker.process.name
        self._log.add(Fault(at=at, until=until, kind=kind, process=process))

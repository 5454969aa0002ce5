"""An event loop in virtual time that runs several simulated processes in an order chosen by a seed.

Nothing here reads a real clock or a real socket. When no callback is ready, time jumps to the next
timer. Each callback belongs to a process: the one in whose context it was scheduled. A suspended
process keeps its callbacks until it goes on; a killed process loses them.
"""

import asyncio
import contextvars
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")

MOST_TURNS = 50_000
"""How many callbacks may run before time passes."""

_process: contextvars.ContextVar["Process"] = contextvars.ContextVar("process")


class Spinning(KeyboardInterrupt):
    """A process never waits, so that its history would not end. No task catches this."""


class Process:
    """A simulated operating system process: a queue of callbacks that run one after the other."""

    __slots__ = ("context", "held", "is_dead", "is_suspended", "name", "queue")

    def __init__(self, name: str) -> None:
        self.name = name
        self.queue: deque[Call] = deque()
        self.held: deque[asyncio.Handle] = deque()
        """Callbacks that wait in real time until it goes on."""
        self.is_suspended = False
        self.is_dead = False
        self.context = contextvars.copy_context()
        self.context.run(_process.set, self)

    def __repr__(self) -> str:
        return f"<process {self.name}>"


def _take_any(queue: "deque[Call]", random: Callable[[], float]) -> "Call":
    """Remove any call from a queue and return it."""
    chosen = int(random() * len(queue))
    call = queue[chosen]
    del queue[chosen]
    return call


def process_of(context: contextvars.Context) -> Process | None:
    """Return the process that a context belongs to."""
    return context.get(_process)


class Call(asyncio.TimerHandle):
    """A scheduled callback."""

    __slots__ = ("args", "callback", "context", "is_cancelled", "process")

    def __init__(  # every callback of a history makes one: the base class does more than is needed
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context,
        process: Process,
    ) -> None:
        self.callback = callback
        self.args = args
        self.context = context
        self.is_cancelled = False
        self.process = process

    def cancel(self) -> None:
        self.is_cancelled = True

    def cancelled(self) -> bool:
        return self.is_cancelled

    def __repr__(self) -> str:
        return f"<call {self.callback} of {self.process}>"


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs callbacks in virtual time.

    `any_order` lets any ready callback of a process run next; otherwise each process runs its
    callbacks first in, first out, as a real event loop does, and only the choice between processes
    is free. `lag` is the most seconds that one callback takes: a loaded machine. `on_crash` is
    called with exceptions that no task caught.
    """

    def __init__(
        self,
        chance: Random,
        *,
        any_order: bool = False,
        lag: float = 0.0,
        on_crash: Callable[[Process, BaseException], None],
    ) -> None:
        self._random = chance.random
        self._any_order = any_order
        self._lag = lag
        self._on_crash = on_crash
        self._now = 0.0
        self._timers: list[tuple[float, int, Call]] = []
        self._number = 0
        self._runnable: list[Process] = []
        self._turns = 0
        self.world = Process("world")
        """The process of everything outside the simulated ones: network, store, endpoints,
        people."""

    # --- Time and processes ---------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def run_for(self, seconds: float) -> None:
        """Run for `seconds` of virtual time."""
        self.run_to(self._now + seconds)

    def run_to(self, end: float) -> None:
        """Run until an instant of virtual time."""
        events._set_running_loop(self)  # noqa: SLF001  the documented way for loop implementers
        try:
            self._run_to(end)
        finally:
            events._set_running_loop(None)  # noqa: SLF001  likewise

    def _run_to(self, end: float) -> None:
        timers = self._timers
        if self._lag:
            self._wake_timers()
        self._run_ready()
        while timers and timers[0][0] <= end:
            self._now = timers[0][0]
            self._turns = 0
            self._wake_timers()
            self._run_ready()
        self._now = max(self._now, end)

    def _run_ready(self) -> None:
        """Run callbacks until none is ready: each chosen by chance as far as it is free."""
        timers, runnable, lag = self._timers, self._runnable, self._lag
        random, any_order, world = self._random, self._any_order, self.world
        while runnable:
            place = int(random() * len(runnable)) if len(runnable) > 1 else 0
            process = runnable[place]
            queue = process.queue
            call = _take_any(queue, random) if any_order and len(queue) > 1 else queue.popleft()
            if not queue:
                del runnable[place]
            if call.is_cancelled:
                continue
            self._turns += 1
            if self._turns > MOST_TURNS:
                raise Spinning(f"{process} goes on and on without letting time pass: {call}")
            if lag and process is not world:
                self._now += lag * random()
            self._run_one(process, call)
            if lag and timers and timers[0][0] <= self._now:  # time passed
                self._wake_timers()

    def _run_one(self, process: Process, call: Call) -> None:
        try:
            call.context.run(call.callback, *call.args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # as a real loop does: it reports and goes on
            if process is self.world:
                raise
            self._on_crash(process, error)

    def _wake_timers(self) -> None:
        """Queue the callbacks whose time has come."""
        timers, runnable, now = self._timers, self._runnable, self._now
        while timers and timers[0][0] <= now:
            call = heappop(timers)[2]
            process = call.process
            if call.is_cancelled or process.is_dead:
                continue
            if not process.queue and not process.is_suspended:
                runnable.append(process)
            process.queue.append(call)

    def _enqueue(self, call: Call) -> None:
        process = call.process
        if process.is_dead or call.is_cancelled:
            return
        if not process.queue and not process.is_suspended:
            self._runnable.append(process)
        process.queue.append(call)

    def suspend(self, process: Process) -> None:
        """Stop a process where it is; its timers and answers wait for it."""
        if not process.is_suspended:
            process.is_suspended = True
            if process in self._runnable:
                self._runnable.remove(process)

    def go_on(self, process: Process) -> None:
        """Let a suspended process run again."""
        if process.is_suspended and not process.is_dead:
            process.is_suspended = False
            if process.queue:
                self._runnable.append(process)

    def kill(self, process: Process) -> None:
        """End a process at once: no callback of it runs any more."""
        self.suspend(process)
        process.is_dead = True
        process.queue.clear()

    def revive(self, process: Process) -> None:
        """Let callbacks of a killed process run again, so that its tasks can be cleared away."""
        process.is_dead = process.is_suspended = False

    def start(self, process: Process, program: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine as a task of a process."""
        return asyncio.Task(program, loop=self, context=process.context.copy())

    def later_in(
        self, process: Process, delay: float, callback: Callable[..., object], *args: object
    ) -> Call:
        """Call a function in a process after `delay` seconds."""
        call = Call(callback, args, process.context, process)
        self._number += 1
        heappush(self._timers, (self._now + delay, self._number, call))
        return call

    def soon_in(self, process: Process, callback: Callable[..., object], *args: object) -> None:
        """Call a function in a process when its turn comes."""
        self._enqueue(Call(callback, args, process.context, process))

    # --- What asyncio asks of a loop ------------------------------------------------------------

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: object,
        context: contextvars.Context | None = None,
    ) -> Call:
        if context is None:
            context = contextvars.copy_context()
        process = context.get(_process, self.world)
        call = Call(callback, args, context, process)
        if not process.is_dead:
            queue = process.queue
            if not queue and not process.is_suspended:
                self._runnable.append(process)
            queue.append(call)
        return call

    call_soon_threadsafe = call_soon  # there is one thread

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: object,
        context: contextvars.Context | None = None,
    ) -> Call:
        if context is None:
            context = contextvars.copy_context()
        call = Call(callback, args, context, context.get(_process, self.world))
        self._number += 1
        heappush(self._timers, (self._now + delay, self._number, call))
        return call

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: object,
        context: contextvars.Context | None = None,
    ) -> Call:
        if context is None:
            context = contextvars.copy_context()
        call = Call(callback, args, context, context.get(_process, self.world))
        self._number += 1
        heappush(self._timers, (when, self._number, call))
        return call

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]  # the stubs have more kinds of coroutines
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[T]:
        return asyncio.Task(
            coro, loop=self, name=None if name is None else str(name), context=context
        )

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report an exception of a task or future that no other code retrieved."""
        error = context.get("exception")
        if error is not None:
            process = _process.get(self.world)
            self._on_crash(process, error)

    get_debug = staticmethod(bool)
    """Return False. Every future and task asks this, and `bool` answers without a Python call."""

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return True  # there is nothing to close

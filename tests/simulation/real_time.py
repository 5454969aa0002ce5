"""An event loop in real time whose simulated processes can be suspended and killed.

For stores that are reached over sockets. A suspended process runs no callback of a timer, a socket
or a task; they wait until it continues. A killed process loses them.
"""

import asyncio
import gc
import inspect
import time
import warnings
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from tests.simulation.loop import Process, process_of

if TYPE_CHECKING:
    import selectors

T = TypeVar("T")


class _Ready(deque[asyncio.Handle]):
    """The callbacks that run next: none of a process that is suspended or dead."""

    def append(self, handle: asyncio.Handle) -> None:
        process = process_of(handle._context)  # type: ignore[attr-defined]  # noqa: SLF001  nowhere else
        if process is None or not process.is_suspended:
            super().append(handle)
        elif not process.is_dead:
            process.held.append(handle)


def _is_of(handle: asyncio.Handle, process: Process) -> bool:
    return process_of(handle._context) is process  # type: ignore[attr-defined]  # noqa: SLF001  likewise


def _close_unstarted(task: asyncio.Task[Any]) -> None:
    """Close the coroutine of a task whose process was killed before the task began."""
    program = task.get_coro()
    if inspect.iscoroutine(program) and inspect.getcoroutinestate(program) == inspect.CORO_CREATED:
        program.close()


def forget_sockets() -> None:
    """Collect the sockets of killed processes, which closed nothing, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


class RealTimeLoop(asyncio.SelectorEventLoop):
    """Runs callbacks in real time; see `SimulatedLoop`, whose methods it has."""

    def __init__(self, on_crash: Callable[[Process, BaseException], None]) -> None:
        super().__init__()
        self._ready = _Ready()
        self._began_at = time.monotonic()
        self._on_crash = on_crash
        self._selector: selectors.BaseSelector
        self._sockets: dict[Process, list[selectors.SelectorKey]] = {}
        """The sockets that suspended processes listen to."""
        self.world = Process("world")
        self.patience = 5.0
        """How many seconds cancelled tasks have at the end."""
        self.set_exception_handler(self._report)

    def time(self) -> float:
        return time.monotonic() - self._began_at

    def run_for(self, seconds: float) -> None:
        """Run for `seconds`."""
        self.run_until_complete(asyncio.sleep(seconds))

    def run_to(self, end: float) -> None:
        """Run until an instant."""
        self.run_for(max(0.0, end - self.time()))

    def suspend(self, process: Process) -> None:
        """Stop a process where it is; incoming data waits in its sockets."""
        process.is_suspended = True
        selector = self._selector
        for key in list(selector.get_map().values()):
            if any(half is not None and _is_of(half, process) for half in key.data):
                selector.unregister(key.fileobj)
                self._sockets.setdefault(process, []).append(key)

    def go_on(self, process: Process) -> None:
        """Let a suspended process run again."""
        if process.is_suspended and not process.is_dead:
            self._release(process)

    def kill(self, process: Process) -> None:
        """End a process at once: no callback of it runs any more."""
        self.suspend(process)
        process.is_dead = True
        process.held.clear()

    def revive(self, process: Process) -> None:
        """Let callbacks of a killed process run again, so that its tasks can be cleared away."""
        process.is_dead = False
        self._release(process)

    def _release(self, process: Process) -> None:
        process.is_suspended = False
        for key in self._sockets.pop(process, []):
            self._selector.register(key.fileobj, key.events, key.data)
        while process.held:
            self._ready.append(process.held.popleft())

    def start(self, process: Process, program: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine as a task of a process."""
        return self.create_task(program, context=process.context.copy())

    def later_in(
        self, process: Process, delay: float, callback: Callable[..., object], *args: object
    ) -> asyncio.TimerHandle:
        """Call a function in a process after `delay` seconds."""
        return self.call_later(delay, callback, *args, context=process.context)

    def soon_in(self, process: Process, callback: Callable[..., object], *args: object) -> None:
        """Call a function in a process when its turn comes."""
        self.call_soon(callback, *args, context=process.context)

    def shut_down(self, *last: Coroutine[Any, Any, None]) -> None:
        """Cancel all tasks, run the remaining callbacks, and close the loop."""
        tasks = asyncio.all_tasks(self)
        for task in tasks:
            task.cancel()
        self.run_until_complete(
            asyncio.wait(tasks, timeout=self.patience) if tasks else asyncio.sleep(0)
        )
        for task in tasks:
            _close_unstarted(task)
        for program in last:
            self.run_until_complete(program)
        self.run_until_complete(self.shutdown_default_executor())
        self.close()

    def _report(self, _loop: object, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None:
            self._on_crash(self.world, error)

"""A process that has everything imported and forks others on request: a start takes milliseconds.

The tests hold its client, `Nursery`; the children are killed, stopped and asked to end by signals
like any process. `python -m tests.faults.nursery` is the process itself.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from select import select
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
PATIENCE = 150.0


class Child:
    """A process that was forked, with what it said in the file `log`."""

    def __init__(self, pid: int, log: Path) -> None:
        self.pid = pid
        self.log = log
        self.gone = Event()
        self.status = 0

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        return not self.gone.is_set()

    def send(self, what: signal.Signals) -> None:
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, what)

    def kill(self) -> None:
        """Kill it and wait for its end; one that has ended by itself is an error."""
        assert self.alive, f"ended by itself with {self.status}:\n{self.said}"
        self.send(signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL, self.said

    def end(self) -> int:
        """Have it end in good order."""
        self.send(signal.SIGTERM)
        return self.wait()

    def wait(self, seconds: float = PATIENCE) -> int:
        """Its exit code, or the number of the signal that ended it, below zero."""
        assert self.gone.wait(seconds), f"process {self.pid} does not end:\n{self.said}"
        return self.status


class Nursery:
    """Starts programs of `tests.faults.programs`, and hears of their ends."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.faults.nursery"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._started: SimpleQueue[int] = SimpleQueue()
        self._children: dict[int, Child] = {}
        self._ended: dict[int, int] = {}
        self._lock = Lock()
        self._hearing = Thread(target=self._hear, name="nursery")
        self._hearing.start()

    def start(
        self,
        program: str,
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        files: int | None = None,
        user: int | None = None,
        **options: object,
    ) -> Child:
        """Fork a process that runs a program with these options.

        `files` is the most it may have open, `user` the one it runs as.
        """
        log.touch()
        order = {
            "program": program,
            "log": str(log),
            "environment": environment or {},
            "files": files,
            "user": user,
            "options": options,
        }
        with self._lock:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(order) + "\n")
            child = Child(self._started.get(timeout=PATIENCE), log)
            self._children[child.pid] = child
            if child.pid in self._ended:
                self._bury(child)
        return child

    def clear(self) -> None:
        """Kill the children that are left from a test."""
        for child in list(self._children.values()):
            child.send(signal.SIGKILL)
            child.wait()
        self._children.clear()

    def close(self) -> None:
        self.clear()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._hearing.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            if "started" in told:
                self._ended.pop(told["started"], None)  # numbers of processes come again
                self._started.put(told["started"])
                continue
            self._ended[told["ended"]] = told["status"]
            child = self._children.get(told["ended"])
            if child is not None:
                self._bury(child)

    def _bury(self, child: Child) -> None:
        child.status = self._ended[child.pid]
        child.gone.set()


# --- In the process itself ----------------------------------------------------------------------


def serve() -> None:
    """Fork a child for each order, and report its end, until the input is closed."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    asked = b""
    children: set[int] = set()
    while True:
        ready, _, _ = select([0, reading], [], [])
        if reading in ready:
            os.read(reading, 4096)
            children -= set(tell_of_the_dead())
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                break
            *orders, asked = (asked + data).split(b"\n")
            for order in orders:
                children.add(started(json.loads(order), (reading, writing)))
    for pid in children:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def tell(what: dict[str, int]) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def tell_of_the_dead() -> Iterator[int]:
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            tell({"ended": found[0], "status": os.waitstatus_to_exitcode(found[1])})
            yield found[0]


def started(order: dict[str, Any], inherited: tuple[int, int]) -> int:
    pid = os.fork()
    if pid:
        tell({"started": pid})
        return pid
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for file in inherited:
            os.close(file)
        status = become(order)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def become(order: dict[str, Any]) -> int:
    """Be the program that was asked for; its exit code."""
    from tarry.service import failpoints  # noqa: PLC0415  imported before the fork already
    from tests.faults import programs  # noqa: PLC0415  likewise

    os.setsid()
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(order["environment"])
    failpoints.arm(os.environ.get(failpoints.VARIABLE))
    if order["files"] is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (order["files"], order["files"]))
    if order["user"] is not None:
        os.setgroups([])
        os.setgid(order["user"])
        os.setuid(order["user"])
    try:
        programs.PROGRAMS[order["program"]](**order["options"])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001  whatever it is, it belongs into the log
        sys.excepthook(*sys.exc_info())
        return 70
    return 0


if __name__ == "__main__":
    from tests.faults import programs  # noqa: F401  so that children have it

    serve()

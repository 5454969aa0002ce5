"""Looks names up, which blocks, in threads of its own.

Unlike those of the standard library's pools, they are daemon threads: a name server that never
answers does not delay the end of the process.
"""

import socket
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from threading import Lock, Thread

from msgspec import Struct

from tarry.core.outcome import Kind

Job = Callable[[], None]


class Unresolved(Struct, frozen=True):
    """Why a name has no address. `detail` is for the endpoint's owner, and names no address.

    `local` marks a name that was not looked up at all, which says nothing about the name.
    """

    kind: Kind
    detail: str
    local: bool = False


Found = tuple[str, ...] | Unresolved
"""All addresses of a name, or why there is none."""

_NO_ADDRESS = Unresolved(Kind.DNS, "the name has no address")
_NOT_RESOLVED = Unresolved(Kind.DNS, "the name could not be resolved")
_FAILURES = {
    socket.EAI_NONAME: Unresolved(Kind.DNS, "the name is not known"),
    socket.EAI_AGAIN: Unresolved(Kind.DNS, "the name servers did not answer"),
}

DOCKERS_HOST = "host.docker.internal"
"""The name by which containers call the machine they run on. Outside of a container, if the name is
not known, it stands for this machine: the same endpoint works in both places, if loopback may be
called."""


def look_up(host: str) -> list[str]:
    """Return all addresses of a name that the system knows; raise OSError if it knows none."""
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        if host != DOCKERS_HOST:
            raise
        return ["127.0.0.1"]
    return [str(address[0]) for *_, address in answers]


def find(look_up: Callable[[str], Iterable[str]], host: str) -> Found:
    """Return the result of a look-up. It raises no error, since its thread is needed again."""
    try:
        return tuple(look_up(host)) or _NO_ADDRESS
    except OSError as error:
        return _FAILURES.get(error.errno or 0, _NOT_RESOLVED)
    except Exception:  # noqa: BLE001  see above
        return _NOT_RESOLVED


class Threads:
    """Threads that do jobs in turn: started when they are needed, never more than `most`."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = Lock()
        self._count = 0
        self._idle = 0
        self._queued = 0

    def do(self, job: Job) -> None:
        """Do a job as soon as a thread is free. The job must handle its own errors."""
        with self._lock:
            self._queued += 1
            needs_thread = self._queued > self._idle and self._count < self._most
            self._count += needs_thread
        self._jobs.put(job)
        if needs_thread:
            Thread(target=self._work, name=self._name, daemon=True).start()

    def close(self) -> None:
        """Let the threads end, each after its job; waiting jobs are dropped."""
        while not self._jobs.empty():
            self._jobs.get()
        for _ in range(self._count):
            self._jobs.put(None)

    def _work(self) -> None:
        """Do jobs until there is a None instead of one. This runs in a thread."""
        while True:
            with self._lock:
                self._idle += 1
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
                self._queued -= 1
            if job is None:
                return
            job()

"""The receiver of a benchmark: a process of its own that answers 200 and counts requests.

It refuses requests without a Content-Length: the clients that are measured send one. It keeps 16
bytes per request: a hash of the `webhook-id` and the arrival time. A million requests take 16 MB,
and the chance that two of their ids share a hash, and so look like a duplicate, is one in thirty
million.
"""

import asyncio
import os
import resource
import subprocess
import sys
import time
from array import array
from types import TracebackType
from typing import IO, Self, TypeVar, cast

import msgspec
import uvloop
from msgspec import Struct

from tarry.receive.http1 import Connection, Request, RequestReader, response

ANSWER = response(200)
BUCKET = 0.01
BACKLOG = 4096

Kind = TypeVar("Kind")


class Report(Struct, frozen=True):
    """Counts of the arrivals so far. Times are from `time.monotonic`, which all processes share."""

    arrivals: int
    distinct: int
    first_at: float
    last_at: float
    buckets: list[int] = []
    """Arrivals in each hundredth of a second since `first_at`, if requested."""

    @property
    def duplicates(self) -> int:
        """How many arrivals repeated a message that had arrived before."""
        return self.arrivals - self.distinct

    @property
    def rate(self) -> float:
        """Arrivals per second, from the first to the last."""
        took = self.last_at - self.first_at
        return (self.arrivals - 1) / took if took else 0.0


class Sink:
    """A running sink, seen from the process that started it; it ends with that process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tarry.cli.bench.sink"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is meant for the measuring process
        )
        self.url = f"http://127.0.0.1:{self._read_answer(int)}/"

    def arrivals(self) -> int:
        """Return how many requests have arrived; this is fast."""
        return self._ask("arrivals", int)

    def report(self, *, buckets: bool = False) -> Report:
        """Return all figures; for a million requests this takes the sink a second."""
        return self._ask("buckets" if buckets else "report", Report)

    def reset(self) -> None:
        """Forget all arrivals so far."""
        self._ask("reset", int)

    def close(self) -> None:
        """Stop the sink process."""
        with self._process:  # leaving closes the sink's input, which ends it
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, question: str, kind: type[Kind]) -> Kind:
        """Send the process a question, and return its answer."""
        questions = cast("IO[bytes]", self._process.stdin)
        questions.write(f"{question}\n".encode())
        questions.flush()
        return self._read_answer(kind)

    def _read_answer(self, kind: type[Kind]) -> Kind:
        """Read the process's answer to a question."""
        line = cast("IO[bytes]", self._process.stdout).readline()
        return msgspec.json.decode(line, type=kind)


# --- In the process of the sink -----------------------------------------------------------------


class ArrivalLog:
    """The arrivals: for each request, a hash of its id and its time."""

    def __init__(self) -> None:
        self.ids = array("q")
        self.times = array("d")

    def add(self, id: str) -> None:  # noqa: A002  `id` is the usual name
        """Record an arrival."""
        self.ids.append(hash(id))
        self.times.append(time.monotonic())

    def reset(self) -> int:
        """Forget all arrivals, and return how many there were."""
        forgotten = len(self.times)
        self.ids, self.times = array("q"), array("d")
        return forgotten

    def report(self, *, buckets: bool) -> Report:
        """Compute the figures."""
        times = self.times
        first_at, last_at = (times[0], times[-1]) if times else (0.0, 0.0)
        counts = [0] * (int((last_at - first_at) / BUCKET) + 1) if buckets and times else []
        for at in times if buckets else ():
            counts[int((at - first_at) / BUCKET)] += 1
        return Report(len(times), len(set(self.ids)), first_at, last_at, counts)


class SinkConnection(Connection):
    """One connection from a sender."""

    def __init__(self, ledger: ArrivalLog) -> None:
        super().__init__(RequestReader(needs_length=True))
        self._ledger = ledger

    def received(self, request: Request) -> None:
        """Record the arrival and answer 200."""
        self._ledger.add(request.header("webhook-id"))
        self.transport.write(ANSWER)


async def serve() -> None:
    """Accept requests, and questions on standard input, until that input closes."""
    loop, ledger, done = asyncio.get_running_loop(), ArrivalLog(), asyncio.Event()
    server = await loop.create_server(
        lambda: SinkConnection(ledger), "127.0.0.1", 0, backlog=BACKLOG
    )
    unread = b""

    def read_questions() -> None:
        """Answer the questions that have come; end when standard input closes."""
        nonlocal unread
        data = os.read(sys.stdin.fileno(), 1024)
        if not data:
            done.set()
        *questions, unread = (unread + data).split(b"\n")
        for question in questions:
            tell(answer(ledger, question.decode()))

    loop.add_reader(sys.stdin.fileno(), read_questions)
    tell(server.sockets[0].getsockname()[1])
    await done.wait()


def answer(ledger: ArrivalLog, question: str) -> Report | int:
    """Return the answer to a question of the measuring process."""
    match question:
        case "arrivals":
            return len(ledger.times)
        case "reset":
            return ledger.reset()
        case _:
            return ledger.report(buckets=question == "buckets")


def tell(value: Report | int) -> None:
    """Write a value as one line of JSON."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def take_many_connections() -> None:
    """Raise the limit of open files as far as an ordinary user may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    take_many_connections()
    uvloop.run(serve())

"""The receiver of a benchmark: a process of its own that answers 200 and keeps count.

It understands as much HTTP as a count of webhooks takes: requests with a Content-Length, one after
the other on connections that stay open. Per request it keeps 16 bytes, a hash of its `webhook-id`
and when it came, so a million are told apart in 16 MB; that two ids share a hash and pass for a
duplicate has a chance of one in thirty million then.
"""

import asyncio
import os
import re
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

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
NO_LENGTH = b"HTTP/1.1 411 Length Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
END_OF_HEAD = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
ID = re.compile(rb"\r\nwebhook-id:[ \t]*([^\r]*)", re.IGNORECASE)
BUCKET = 0.01
BACKLOG = 4096

Kind = TypeVar("Kind")


class Report(Struct, frozen=True):
    """What has arrived so far. Times are of `time.monotonic`, which all processes share."""

    arrivals: int
    distinct: int
    first_at: float
    last_at: float
    buckets: list[int] = []
    """Arrivals in each hundredth of a second since `first_at`, if asked for."""

    @property
    def duplicates(self) -> int:
        """Arrivals of a message that had arrived before."""
        return self.arrivals - self.distinct

    @property
    def rate(self) -> float:
        """Arrivals per second, from the first to the last."""
        took = self.last_at - self.first_at
        return (self.arrivals - 1) / took if took else 0.0


class Sink:
    """A sink at work, seen from the process that started it; it ends with that process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tarry.cli.bench.sink"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the one who measures
        )
        self.url = f"http://127.0.0.1:{self._answer(int)}/"

    def arrivals(self) -> int:
        """How many requests have come; quickly told."""
        return self._ask("arrivals", int)

    def report(self, *, buckets: bool = False) -> Report:
        """All about what has come; it takes the sink a second for a million."""
        return self._ask("buckets" if buckets else "report", Report)

    def reset(self) -> None:
        """Forget what has come so far."""
        self._ask("reset", int)

    def close(self) -> None:
        """End it."""
        with self._process:  # closes its input, which is its sign to end
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
        questions = cast("IO[bytes]", self._process.stdin)
        questions.write(f"{question}\n".encode())
        questions.flush()
        return self._answer(kind)

    def _answer(self, kind: type[Kind]) -> Kind:
        line = cast("IO[bytes]", self._process.stdout).readline()
        return msgspec.json.decode(line, type=kind)


# --- In the process of the sink -----------------------------------------------------------------


class Ledger:
    """What has arrived: of each request a hash of its id, and when."""

    def __init__(self) -> None:
        self.ids = array("q")
        self.times = array("d")

    def add(self, id: bytes) -> None:  # noqa: A002  an id is what it is
        """Note an arrival."""
        self.ids.append(hash(id))
        self.times.append(time.monotonic())

    def reset(self) -> int:
        """Forget all, and say how many they were."""
        forgotten = len(self.times)
        self.ids, self.times = array("q"), array("d")
        return forgotten

    def report(self, *, buckets: bool) -> Report:
        """Sum up."""
        times = self.times
        first_at, last_at = (times[0], times[-1]) if times else (0.0, 0.0)
        counts = [0] * (int((last_at - first_at) / BUCKET) + 1) if buckets and times else []
        for at in times if buckets else ():
            counts[int((at - first_at) / BUCKET)] += 1
        return Report(len(times), len(set(self.ids)), first_at, last_at, counts)


class Connection(asyncio.Protocol):
    """One connection of a sender."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be ready."""
        self._transport = cast("asyncio.Transport", transport)  # a stream's goes both ways

    def data_received(self, data: bytes) -> None:
        """Answer each request that has come whole, and keep the rest for later."""
        data = self._rest + data if self._rest else data
        start = answers = 0
        while (head_end := data.find(END_OF_HEAD, start)) >= 0:
            length = LENGTH.search(data, start, head_end)
            if length is None:
                self._transport.write(ANSWER * answers + NO_LENGTH)
                self._transport.close()
                return
            end = head_end + len(END_OF_HEAD) + int(length[1])
            if end > len(data):
                break
            id_found = ID.search(data, start, head_end)
            self._ledger.add(id_found[1] if id_found else b"")
            start, answers = end, answers + 1
        self._rest = data[start:]
        if answers:
            self._transport.write(ANSWER * answers)


async def serve() -> None:
    """Take requests, and questions on the standard input, until that is closed."""
    loop, ledger, done = asyncio.get_running_loop(), Ledger(), asyncio.Event()
    server = await loop.create_server(lambda: Connection(ledger), "127.0.0.1", 0, backlog=BACKLOG)
    asked = b""

    def hear() -> None:
        nonlocal asked
        data = os.read(sys.stdin.fileno(), 1024)
        if not data:
            done.set()
        *questions, asked = (asked + data).split(b"\n")
        for question in questions:
            tell(answer(ledger, question.decode()))

    loop.add_reader(sys.stdin.fileno(), hear)
    tell(server.sockets[0].getsockname()[1])
    await done.wait()


def answer(ledger: Ledger, question: str) -> Report | int:
    """What is told when this is asked."""
    match question:
        case "arrivals":
            return len(ledger.times)
        case "reset":
            return ledger.reset()
        case _:
            return ledger.report(buckets=question == "buckets")


def tell(what: Report | int) -> None:
    """Write one line of JSON."""
    sys.stdout.buffer.write(msgspec.json.encode(what) + b"\n")
    sys.stdout.buffer.flush()


def take_many_connections() -> None:
    """Raise the limit of open files as far as an ordinary user may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    take_many_connections()
    uvloop.run(serve())

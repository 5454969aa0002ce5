"""A plain socket that asks a receiver, and tells what came back until it ended or fell silent."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from tarry.testing import zoo

SILENCE = 0.02
"""Seconds of a receiver's own time after which it counts as silent."""
BEAT = 0.001
"""Seconds that a slow receiver lets go by between two bytes."""
PATIENCE = 60.0
ENOUGH_BYTES = 512 * 1024


class Visitor:
    """Holds one connection to a receiver."""

    def __init__(self, receiver: zoo.Receiver, sock: socket.socket) -> None:
        self.receiver = receiver
        self.sock = sock

    def send(self, path: str = "/hook", body: bytes = b"abc") -> "Visitor":
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        self.sock.sendall(head.encode() + body)
        return self

    def hear(self, most: int = ENOUGH_BYTES) -> tuple[bytes, str]:
        """Return what was received, and why no more was: silence, end, reset or enough."""
        heard = b""
        while len(heard) < most:
            try:
                piece = self._piece()
            except TimeoutError:
                return heard, "silence"
            except (ConnectionResetError, BrokenPipeError):  # TLS may write when it reads
                return heard, "reset"
            if not piece:
                return heard, "end"
            heard += piece
        return heard, "enough"

    def _piece(self) -> bytes:
        try:
            return self.sock.recv(64 * 1024)
        except TimeoutError:  # perhaps it had no turn yet: the machine is busy
            loop = self.receiver._loop  # noqa: SLF001  nobody else can tell
            asyncio.run_coroutine_threadsafe(_a_turn(), loop).result(PATIENCE)
            return self.sock.recv(64 * 1024)


async def _a_turn() -> None:
    """Give a receiver the time for all that it can do now."""
    await asyncio.sleep(SILENCE)
    for _ in range(50):
        await asyncio.sleep(0)


Visit = Callable[[str], Visitor]


@pytest.fixture
def visit() -> Iterator[Visit]:
    """Return a function that opens a receiver by its name, and a connection to it."""
    with ExitStack() as opened:

        def open_both(name: str) -> Visitor:
            receiver = opened.enter_context(zoo.receiver(name, beat=BEAT))
            to = urlsplit(receiver.url)
            sock = opened.enter_context(socket.create_connection(("127.0.0.1", to.port or 0)))
            if receiver.behaviour.certificate:
                tls = ssl.create_default_context(cadata=zoo.authority().pem.decode())
                sock = opened.enter_context(tls.wrap_socket(sock, server_hostname=to.hostname))
            sock.settimeout(SILENCE)
            return Visitor(receiver, sock)

        yield open_both

"""A port that stays reserved for a server while the server does not listen on it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_port() -> Iterator[int]:
    """Reserve a port for a server that is started with it; no other process is given it."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers have it
        kept.bind(("127.0.0.1", 0))
        port: int = kept.getsockname()[1]
        yield port

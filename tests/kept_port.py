"""A port that nobody else is given while nobody listens there yet, or any more."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_port() -> Iterator[int]:
    """One for a server that is told where to listen; who asks for any port gets another."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers have it
        kept.bind(("127.0.0.1", 0))
        port: int = kept.getsockname()[1]
        yield port

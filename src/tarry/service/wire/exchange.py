"""One exchange with an endpoint: what is sent, what comes back, and what a sender has to do.

The values here are msgspec structs and not `Value`s: several are made for every delivery, and a
struct is made about ten times as fast.
"""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from tarry.core.outcome import Kind

Headers = tuple[tuple[str, str], ...]

TIMEOUT = 15.0
"""Seconds for the whole exchange: name, connection, handshake, request and answer."""
CONNECT_TIMEOUT = 5.0
"""Seconds of it until the connection stands, its TLS handshake included."""
MOST_READ = 64 * 1024
"""Bytes of an answer's body that are read; a longer one is cut off and its connection closed."""
MOST_KEPT = 8 * 1024
"""Bytes of it that are kept."""
MOST_HEAD = 32 * 1024
"""Bytes of an answer's head; a longer one is a failure."""


class Target(Struct, frozen=True, gc=False):  # it holds values alone: no cycle
    """Where an endpoint is: its URL, checked and taken apart, and the headers its owner set."""

    scheme: str
    host: str
    """As it is resolved and as TLS checks it: lower case, without brackets or a trailing dot."""
    port: int
    path: str
    """With the query, beginning with a slash, ready for the request line."""
    headers: Headers = ()
    owner: str = ""
    """The application whose endpoint it is: look-ups of its name count against the application's
    share. Targets without an owner share one."""

    def sending(self, content_type: str) -> "Target":
        """The same for bodies of another type than usual, whatever its owner set."""
        kept = tuple(pair for pair in self.headers if pair[0].lower() != "content-type")
        return replace(self, headers=(*kept, ("content-type", content_type)))

    @property
    def origin(self) -> tuple[str, str, int]:
        """What endpoints share that go down together."""
        return self.scheme, self.host, self.port


class Request(Struct, frozen=True):
    """One attempt, ready to go. `headers` are those of this attempt alone, the signature's too."""

    target: Target
    headers: Headers
    body: bytes
    timeout: float = TIMEOUT
    connect_timeout: float = CONNECT_TIMEOUT


class Answer(Struct, frozen=True):
    """What came of an attempt.

    `failure` is None once a status line and all of its headers have come: then the endpoint has
    answered, whatever becomes of the body. `detail` says in words what went wrong, without a word
    about addresses that were refused: an endpoint's owner may read it.

    `unreachable` is set if no connection to the origin could be made: no address for its name, no
    connection, no TLS handshake. All endpoints of the origin share that. It is not set if a
    connection broke after the request was sent: the server behind a gateway for one of its
    endpoints can cause that.
    """

    took: float
    status: int | None = None
    headers: Headers = ()
    """Names in lower case; of `HEARD` only."""
    body: bytes = b""
    truncated: bool = False
    failure: Kind | None = None
    detail: str = ""
    unreachable: bool = False


HEARD = frozenset({"content-type", "date", "ratelimit-reset", "retry-after", "webhook-delivery"})
"""The headers of an answer that are kept: those that say something to a sender of webhooks."""


class Sender(Protocol):
    """Makes attempts. It bounds each in time and size, checks every address, follows nothing."""

    def send(self, request: Request, done: Callable[[Answer], None]) -> None:
        """Start an attempt; `done` is called once, later, on the thread of the event loop.

        Nothing is raised: whatever goes wrong is an answer.
        """

    async def close(self) -> None:
        """Close what is kept open; attempts on their way end as failures."""

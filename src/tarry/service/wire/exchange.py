"""One exchange with an endpoint: the request, the answer, and the interface of a sender.

The values here are msgspec structs and not `Value`s: several are created for every delivery, and
creating a struct is about ten times as fast.
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
"""Seconds of it for the connection, including its name look-up and TLS handshake."""
MOST_READ = 64 * 1024
"""Bytes of an answer's body that are read; a longer one is cut off and its connection closed."""
MOST_KEPT = 8 * 1024
"""Bytes of the body that are kept."""
MOST_HEAD = 32 * 1024
"""Bytes of an answer's head; a longer one is a failure."""


class Target(Struct, frozen=True, gc=False):  # it holds only values: no cycle
    """Where an endpoint is: its URL, checked and parsed, and the headers that its owner set."""

    scheme: str
    host: str
    """As it is resolved and as TLS checks it: lower case, without brackets or a trailing dot."""
    port: int
    path: str
    """The path with the query, starting with a slash, ready for the request line."""
    headers: Headers = ()
    owner: str = ""
    """The application whose endpoint it is: look-ups of its name count against the application's
    share. Targets without an owner share one."""

    def sending(self, content_type: str) -> "Target":
        """Return the target with this content type, whatever its owner set."""
        others = tuple(pair for pair in self.headers if pair[0].lower() != "content-type")
        return replace(self, headers=(*others, ("content-type", content_type)))

    @property
    def origin(self) -> tuple[str, str, int]:
        """The origin: scheme, host and port, which endpoints that fail together share."""
        return self.scheme, self.host, self.port


class Request(Struct, frozen=True):
    """The request of one attempt. `headers` are those of this attempt, with its signature."""

    target: Target
    headers: Headers
    body: bytes
    timeout: float = TIMEOUT
    connect_timeout: float = CONNECT_TIMEOUT


class Answer(Struct, frozen=True):
    """The result of an attempt.

    `failure` is None once the status line and all headers have come: then the endpoint has
    answered, even if the body fails. `detail` describes what went wrong. It never names a refused
    address, since an endpoint's owner may read it.

    `unreachable` is set if no connection to the origin could be made: no address for its name, no
    connection, no TLS handshake. All endpoints of the origin share that. It is not set if a
    connection broke after the request was sent: the server behind a gateway for one of its
    endpoints can cause that.
    """

    took: float
    status: int | None = None
    headers: Headers = ()
    """Only those in `HEARD`, with names in lower case."""
    body: bytes = b""
    truncated: bool = False
    failure: Kind | None = None
    detail: str = ""
    unreachable: bool = False


HEARD = frozenset({"content-type", "date", "ratelimit-reset", "retry-after", "webhook-delivery"})
"""The headers of an answer that are kept: those that matter to a sender of webhooks."""


class Sender(Protocol):
    """Makes attempts. It limits their time and size, checks every address, follows no redirects."""

    def send(self, request: Request, done: Callable[[Answer], None]) -> None:
        """Start an attempt; `done` is called once, later, on the thread of the event loop.

        It raises no error: any failure is reported as an answer.
        """

    async def close(self) -> None:
        """Close all connections; attempts in flight end as failures."""

"""Send requests to a tarry server with the standard library; errors end in one line.

Requests that may be repeated are retried, by a policy of tarry, when the server is busy or cannot
be reached.
"""

import json
import ssl
from collections.abc import Iterator, Mapping
from email.message import Message
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

import click

from tarry.call import sync
from tarry.call.http.body import Rewound, stay
from tarry.call.http.exchange import ATTEMPT_HEADER, Client, Exchange, Terms
from tarry.call.http.fault import Fault, fault_in
from tarry.cli.client.error_text import connection_error_text, refusal_text
from tarry.cli.exit_codes import FAILED, UNUSABLE
from tarry.cli.output.json_text import elements, read
from tarry.cli.output.safe_text import fits_a_header
from tarry.cli.service.options import WrongSettings
from tarry.core.backoff import Exponential
from tarry.core.classify import IDEMPOTENCY_HEADER
from tarry.core.duration import spoken
from tarry.core.outcome import Kind
from tarry.core.policy import Policy, RetryAfter, Statuses
from tarry.observe.events import Retrying

POLICY = Policy(
    name="tarry",
    backoff=Exponential(base=0.2, cap=5),
    attempts=4,
    within=30,
    attempt_timeout=30,
    retry_after=RetryAfter(at_most=10),
    statuses=Statuses(retry={429, 502, 503, 504}, never={500, 501}),
)
ROOT = "/api/v1"
KEYED = frozenset({"PATCH", "POST"})
"""Methods that are retried only under an idempotency key."""
NOTICED = 1.0
"""Report waits of at least this many seconds."""
PAGE_SIZE = 250
"""The largest page that the server returns."""
TYPED = "surrogateescape"
"""How Python represents typed bytes that are not UTF-8; they are sent unchanged."""
_CLIENT_ERRORS, _BROKEN = range(400, 500), 500


class ServerRefused(click.ClickException):
    """The server refuses a request; one line says why."""

    exit_code = FAILED


class NoServer(click.ClickException):
    """The server cannot be reached, or cannot do its work at the moment."""

    exit_code = UNUSABLE


class Unconnected(Exception):  # noqa: N818  internal, never shown to a user
    """No connection could be made, so nothing was sent."""


class Answer(NamedTuple):
    """A server's response."""

    status: int
    headers: Message
    body: bytes

    def read(self) -> Any:  # noqa: ANN401  any JSON value
        """Return the JSON in the body; None if the body is empty."""
        return read(self.body) if self.body else None


def _tell(event: object) -> None:
    """Report a wait before a retry, if it is long enough to notice."""
    if isinstance(event, Retrying) and event.delay >= NOTICED:
        click.echo(
            f"The server is busy or unreachable. Retrying in {spoken(event.delay)}.", err=True
        )


def _forget(_answer: Answer) -> None:
    """Close nothing, since a response has been read to its end."""


_FAULTS = (
    (Unconnected, Fault(Kind.TRANSIENT, sent=False)),
    (TimeoutError, Fault(Kind.TIMEOUT, sent=True)),
    (HTTPException, Fault(Kind.PROTOCOL, sent=True)),
    (OSError, Fault(Kind.TRANSIENT, sent=True)),
)
_CLIENT = Client(
    name="tarry",
    status_of=lambda answer: answer.status,
    fault_of=partial(fault_in, _FAULTS),
    discard=_forget,
    takes_limit=True,
)


class Server:
    """A server at a URL, with the key to use there."""

    def __init__(self, url: str, key: str | None = None, policy: Policy = POLICY) -> None:
        """Raise WrongSettings if the URL or the key cannot be used."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query:
            wanted = "a URL like http://127.0.0.1:8400"
            raise WrongSettings(f"'server' is {url!r}; it must be {wanted}")
        if key is not None and not fits_a_header(key):
            raise WrongSettings("'key' is no key: it may hold printable ASCII characters only")
        # Also accept the URL of the API itself, as the docs show it.
        self.url = url.rstrip("/").removesuffix(ROOT)
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, port
        self._prefix, self._key = parts.path.rstrip("/").removesuffix(ROOT), key
        self.reached = False
        """Whether any request was sent, answered or not."""
        self._terms = Terms(_CLIENT, policy, hooks=_tell)

    def request(
        self,
        method: str,
        *path: str,
        query: Mapping[str, object] | None = None,
        body: object = None,
        key: str | None = None,
        once: bool = False,
    ) -> Answer:
        """Send a request to the API; `path` holds the parts of the path, which are quoted here.

        A body of bytes is sent unchanged. A POST carries an idempotency key, by default a new one,
        so that it can be retried; with `once` it carries none and is not retried. A PATCH carries a
        key, too: it says how a thing should be, so repeating it does no harm.
        """
        for name in path:
            if not name or "/" in name:
                raise click.UsageError(f"{name!r} is not a valid name: it is empty or contains a /")
        headers = {}
        if method in KEYED and not once:
            headers[IDEMPOTENCY_HEADER] = key or f"cli-{uuid4()}"
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        target = "/".join([ROOT, *(quote(part, safe="", errors=TYPED) for part in path)])
        if query and (query_text := _encode_query(query)):
            target += f"?{query_text}"
        answer = self.send(method, target, headers, sent)
        named = (*path, *_names_in_query(query or {}))
        if answer.status >= _BROKEN:
            raise NoServer(f"{self.url}: {refusal_text(answer.status, answer.body, named)}")
        if not _is_tarrys(answer):
            raise NoServer(f"{self.url} answered {answer.status}, but not as tarry's API does")
        if answer.status in _CLIENT_ERRORS:
            raise ServerRefused(refusal_text(answer.status, answer.body, named))
        return answer

    def items(self, *path: str, most: int | None, **query: object) -> Iterator[Any]:
        """Yield the items of a list, page by page: `most` of them, or all if it is None."""
        for _, page in self._pages(*path, most=most, **query):
            yield from page["data"]

    def item_texts(self, *path: str, most: int | None, **query: object) -> Iterator[str]:
        """Yield the same items as the JSON text that the server wrote, one object per line."""
        for answer, _ in self._pages(*path, most=most, **query):
            yield from elements(answer.body.decode(), "data")

    def _pages(
        self, *path: str, most: int | None, **query: object
    ) -> Iterator[tuple[Answer, dict[str, Any]]]:
        """Request the pages of a list, up to `most` items; yield each response and its JSON."""
        remaining, mark = most, None
        while remaining is None or remaining > 0:
            limit = PAGE_SIZE if remaining is None else min(PAGE_SIZE, remaining)
            page_query = {**query, "limit": limit, "iterator": mark}
            answer = self.request("GET", *path, query=page_query)
            page = answer.read()
            yield answer, page
            remaining = None if remaining is None else remaining - len(page["data"])
            mark = page["iterator"]
            if page["done"] or mark is None:
                return

    def send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """Send a request and retry it if necessary; raise NoServer if there is no answer."""
        sent_headers = {"accept": "application/json", **(headers or {})}
        if self._key is not None:
            sent_headers["authorization"] = f"Bearer {self._key}"
        if body is not None:
            sent_headers["content-type"] = "application/json"
        exchange = Exchange(self._terms, method, sent_headers, Rewound(stay))

        def attempt() -> Answer:
            number = exchange.begin()
            numbered = sent_headers if number is None else {**sent_headers, ATTEMPT_HEADER: number}
            return self._request_once(method, self._prefix + target, numbered, body)

        try:
            return sync.retry_call(exchange.plan(), attempt)()
        except (Unconnected, HTTPException, OSError) as error:
            raise NoServer(
                f"{self.url} cannot be reached: {connection_error_text(error)}"
            ) from error

    def _request_once(
        self, method: str, target: str, headers: dict[str, str], body: bytes | None
    ) -> Answer:
        """Send a request on a connection of its own; raise Unconnected if there is none."""
        limit = self._terms.limit()
        connection = (
            HTTPSConnection(
                self._host, self._port, timeout=limit, context=ssl.create_default_context()
            )
            if self._secure
            else HTTPConnection(self._host, self._port, timeout=limit)
        )
        try:
            try:
                connection.connect()
            except OSError as error:
                raise Unconnected from error
            self.reached = True
            connection.request(method, target, body=body, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()


def _is_tarrys(answer: Answer) -> bool:
    """Whether a tarry server wrote this response: JSON, and an object if it is a refusal."""
    try:
        body = answer.read()
    except ValueError:
        return False
    return 200 <= answer.status < 300 or (  # noqa: PLR2004  the success statuses
        answer.status in _CLIENT_ERRORS and isinstance(body, dict)
    )


def _names_in_query(query: Mapping[str, object]) -> Iterator[str]:
    """Yield the parts of a path for what a query names, for error messages."""
    if isinstance(endpoint := query.get("endpoint_id"), str):
        yield from ("endpoint", endpoint)


def _encode_query(query: Mapping[str, object]) -> str:
    """Encode a query, leaving out parameters that are None."""
    texts = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None
    }
    return urlencode(texts, doseq=True, errors=TYPED)

"""Ask a tarry server over HTTP, with the standard library alone; errors end in one line.

What may be asked twice is asked again when the server is busy or away: by tarry's own policy.
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
from tarry.cli.exit_codes import FAILED, UNUSABLE
from tarry.cli.json_text import elements, read
from tarry.cli.plain import fits_a_header
from tarry.cli.refusal import line, obstacle
from tarry.cli.service_options import WrongSettings
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
"""What is not repeated without a key."""
NOTICED = 1.0
"""Seconds of a wait that is told."""
PAGE = 250
"""As many as the server answers at once."""
TYPED = "surrogateescape"
"""How Python holds bytes that were typed and are no UTF-8: they are sent as they are."""
_REFUSED, _BROKEN = range(400, 500), 500


class ServerRefused(click.ClickException):
    """The server refuses what is asked; one line says why."""

    exit_code = FAILED


class NoServer(click.ClickException):
    """The server cannot be reached, or cannot do its work just now."""

    exit_code = UNUSABLE


class Unconnected(Exception):  # noqa: N818  it says what, and is never seen
    """No connection came about: nothing was sent."""


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    headers: Message
    body: bytes

    def read(self) -> Any:  # noqa: ANN401  JSON
        """The JSON in it; None if there is none."""
        return read(self.body) if self.body else None


def _tell(event: object) -> None:
    """Say that there is a wait, if it is one that people notice."""
    if isinstance(event, Retrying) and event.delay >= NOTICED:
        click.echo(f"the server is busy or away: again in {spoken(event.delay)}", err=True)


def _forget(_answer: Answer) -> None:
    """Close nothing: an answer was read to its end."""


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
    """A server at a URL, asked with a key."""

    def __init__(self, url: str, key: str | None = None, policy: Policy = POLICY) -> None:
        """WrongSettings if nobody can be asked there."""
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
        # The API's own address, as it stands in the docs, will do as well.
        self.url = url.rstrip("/").removesuffix(ROOT)
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, port
        self._prefix, self._key = parts.path.rstrip("/").removesuffix(ROOT), key
        self.reached = False
        """Whether something was sent there, be it answered or not."""
        self._terms = Terms(
            _CLIENT,
            policy,
            budget=None,
            breaker=None,
            hooks=_tell,
            name="",
            rate_limit_headers=False,
        )

    def ask(
        self,
        method: str,
        *path: str,
        query: Mapping[str, object] | None = None,
        body: object = None,
        key: str | None = None,
        once: bool = False,
    ) -> Answer:
        """Ask for something of the API; `path` is its parts, of which names are quoted.

        A body of bytes is sent as it is. A POST goes under an idempotency key, a new one if none is
        given, and so can be repeated; not if it is to be sent `once`. So does a PATCH: it says how
        a thing is to be, and no harm is done by saying so twice.
        """
        for name in path:
            if not name or "/" in name:
                raise click.UsageError(f"{name!r} is nobody's name: it is empty, or has a / in it")
        headers = {}
        if method in KEYED and not once:
            headers[IDEMPOTENCY_HEADER] = key or f"cli-{uuid4()}"
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        way = "/".join([ROOT, *(quote(part, safe="", errors=TYPED) for part in path)])
        if query and (said := _written(query)):
            way += f"?{said}"
        answer = self.look(method, way, headers, sent)
        named = (*path, *_named(query or {}))
        if answer.status >= _BROKEN:
            raise NoServer(f"{self.url}: {line(answer.status, answer.body, named)}")
        if not _is_tarrys(answer):
            raise NoServer(f"{self.url} answered {answer.status}, but not as tarry's API does")
        if answer.status in _REFUSED:
            raise ServerRefused(line(answer.status, answer.body, named))
        return answer

    def items(self, *path: str, most: int | None, **query: object) -> Iterator[Any]:
        """What a list holds, page by page: `most` of it, or all."""
        for _, page in self._pages(*path, most=most, **query):
            yield from page["data"]

    def texts(self, *path: str, most: int | None, **query: object) -> Iterator[str]:
        """The same as it is written, an object a line."""
        for answer, _ in self._pages(*path, most=most, **query):
            yield from elements(answer.body.decode(), "data")

    def _pages(
        self, *path: str, most: int | None, **query: object
    ) -> Iterator[tuple[Answer, dict[str, Any]]]:
        left, mark = most, None
        while left is None or left > 0:
            limit = PAGE if left is None else min(PAGE, left)
            asked = {**query, "limit": limit, "iterator": mark}
            answer = self.ask("GET", *path, query=asked)
            page = answer.read()
            yield answer, page
            left = None if left is None else left - len(page["data"])
            mark = page["iterator"]
            if page["done"] or mark is None:
                return

    def look(
        self,
        method: str,
        way: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """Make a request, again if need be; NoServer if nobody answers."""
        told = {"accept": "application/json", **(headers or {})}
        if self._key is not None:
            told["authorization"] = f"Bearer {self._key}"
        if body is not None:
            told["content-type"] = "application/json"
        exchange = Exchange(self._terms, method, told, Rewound(stay))

        def attempt() -> Answer:
            number = exchange.begin()
            numbered = told if number is None else {**told, ATTEMPT_HEADER: number}
            return self._once(method, self._prefix + way, numbered, body)

        try:
            return sync.retry_call(exchange.plan(), attempt)()
        except (Unconnected, HTTPException, OSError) as error:
            raise NoServer(f"{self.url} cannot be reached: {obstacle(error)}") from error

    def _once(self, method: str, way: str, headers: dict[str, str], body: bytes | None) -> Answer:
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
            connection.request(method, way, body=body, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()


def _is_tarrys(answer: Answer) -> bool:
    """Whether it is the answer of a tarry: JSON, and an object if something is refused."""
    try:
        said = answer.read()
    except ValueError:
        return False
    return 200 <= answer.status < 300 or (  # noqa: PLR2004  what went well
        answer.status in _REFUSED and isinstance(said, dict)
    )


def _named(query: Mapping[str, object]) -> Iterator[str]:
    """What a query names, as a path would."""
    if isinstance(endpoint := query.get("endpoint_id"), str):
        yield from ("endpoint", endpoint)


def _written(query: Mapping[str, object]) -> str:
    """A query without what is not told."""
    told = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None
    }
    return urlencode(told, doseq=True, errors=TYPED)

"""Declare the operations of the API with the types of their requests and responses.

Requests are parsed and checked by these types, and the OpenAPI document is generated from them.
"""

import inspect
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct

from tarry.service.api.http.access import Need

MOST_BYTES = 256 * 1024
"""The most bytes in a request's body, unless its operation sets another limit."""

CREATED, UPDATED = 201, 200

T = TypeVar("T")
Handler = Callable[..., Awaitable[object]]


class Reply(Struct, Generic[T], frozen=True):
    """A response with an unusual status or additional headers."""

    body: T
    status: int
    headers: dict[str, str] = {}


class Operation(Struct, frozen=True, kw_only=True):
    """One operation of the API.

    `tenants` allows keys to one application even if the path names no application. `body` is the
    type in the OpenAPI document; a `raw` handler gets the bytes instead. The response of a `secret`
    operation contains a secret and is never stored; that of a `sealed` one is stored encrypted.
    `statuses` are those of success, the usual one first; `fails` are those of failures that only
    some operations have.
    """

    method: str
    path: str
    name: str
    group: str
    summary: str
    detail: str
    handler: Handler
    needs: Need
    tenants: bool
    query: type | None
    body: object
    raw: bool
    secret: bool
    sealed: bool
    answer: Any
    statuses: tuple[int, ...]
    fails: tuple[int, ...]
    most_bytes: int

    @property
    def status(self) -> int:
        """The usual status of success."""
        return self.statuses[0]

    @property
    def idempotent(self) -> bool:
        """Whether a claim makes a repetition with the same idempotency key get the same response.

        Raw operations, which accept messages, store idempotency keys with their messages instead.
        """
        return self.method == "POST" and not self.raw and not self.secret

    @property
    def audited(self) -> bool:
        """Whether what it changes goes into the audit trail. Raw operations accept messages."""
        return self.method != "GET" and not self.raw


class Group:
    """The operations on one kind of object; `@group.get("/path", needs=...)` declares one.

    The handler gets the `Call`, and `query` and `body` if it has such parameters. The annotations
    of these parameters and of the return value are the types for parsing and encoding. The
    handler's docstring is the operation's summary and description in the OpenAPI document.
    """

    def __init__(self, name: str, prefix: str) -> None:
        self.name = name
        self.prefix = prefix
        self.operations: list[Operation] = []

    def get(self, path: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401  the options of `on`
        """Declare an operation that reads something."""
        return self.on("GET", path, **{"needs": Need.LOOK, **options})

    def post(self, path: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401  likewise
        """Declare an operation that creates something or starts an action."""
        return self.on("POST", path, **options)

    def put(self, path: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401  likewise
        """Declare an operation that replaces or creates something."""
        return self.on("PUT", path, **options)

    def patch(self, path: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401  likewise
        """Declare an operation that changes some fields of something."""
        return self.on("PATCH", path, **options)

    def delete(self, path: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401  likewise
        """Declare an operation that deletes something."""
        return self.on("DELETE", path, **options)

    def on(  # noqa: PLR0913  the options of an operation
        self,
        method: str,
        path: str,
        *,
        needs: Need,
        status: int | None = None,
        also: tuple[int, ...] = (),
        fails: tuple[int, ...] = (),
        tenants: bool = False,
        secret: bool = False,
        sealed: bool = False,
        body: object = None,
        most_bytes: int = MOST_BYTES,
        name: str | None = None,
    ) -> Callable[[Handler], Handler]:
        """Declare an operation, with the decorated function as its handler."""

        def declare(handler: Handler) -> Handler:
            hints = get_type_hints(handler, include_extras=True)
            answer = _body_type(hints["return"])
            default_status = HTTPStatus.NO_CONTENT if answer is None else HTTPStatus.OK
            summary, _, detail = inspect.cleandoc(handler.__doc__ or "").partition("\n")
            self.operations.append(
                Operation(
                    method=method,
                    path=path,
                    name=f"{self.prefix}.{name or handler.__name__.replace('_', '-')}",
                    group=self.name,
                    summary=summary.strip().rstrip("."),
                    detail=" ".join(detail.split()),
                    handler=handler,
                    needs=needs,
                    tenants=tenants,
                    query=hints.get("query"),
                    body=body or hints.get("body"),
                    raw=hints.get("body") is bytes,
                    secret=secret,
                    sealed=sealed,
                    answer=answer,
                    statuses=(int(status or default_status), *also),
                    fails=fails,
                    most_bytes=most_bytes,
                )
            )
            return handler

        return declare


def _body_type(annotated: object) -> object:
    """Return the type of a response's body: `T` for `T` and `Reply[T]`; None for no body."""
    if get_origin(annotated) is Reply:
        (annotated,) = get_args(annotated)
    return None if annotated is type(None) else annotated

"""Operations: what the API can be asked for, each with the types of what goes in and out.

From these types a request is read and checked, and the OpenAPI document is written.
"""

import inspect
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct

from tarry.service.api.access import Need

MOST_BYTES = 1024 * 1024
"""Of a request's body, unless its operation says otherwise."""

CREATED, UPDATED = 201, 200

T = TypeVar("T")
Handler = Callable[..., Awaitable[object]]


class Reply(Struct, Generic[T], frozen=True):
    """What is answered, if the status is not the usual one or there are headers to add."""

    body: T
    status: int
    headers: dict[str, str] = {}


class Operation(Struct, frozen=True, kw_only=True):
    """One thing to ask for.

    `tenants` lets keys to one application in although no application is named in the path. `body`
    is the type that the document names; a `raw` handler gets the bytes all the same. `secret` tells
    that the answer holds one, so that it is kept nowhere; a `sealed` one is kept sealed. `statuses`
    are those of success, the usual one first; `fails` are those of failures that only some
    operations have.
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
    body: Any
    raw: bool
    secret: bool
    sealed: bool
    answer: Any
    statuses: tuple[int, ...]
    fails: tuple[int, ...]
    most_bytes: int

    @property
    def status(self) -> int:
        """What is answered when all went well."""
        return self.statuses[0]

    @property
    def idempotent(self) -> bool:
        """Whether a repetition under the same key is answered as the first one, by claims."""
        return self.method == "POST" and not self.raw and not self.secret


class Group:
    """Operations on one kind of thing; `@group.get("/path", needs=...)` declares one.

    The handler is called with the `Call`, and with `query` and `body` if it has such parameters:
    their annotations say how they are read. What it returns is written as its annotation says.
    """

    def __init__(self, name: str, prefix: str) -> None:
        self.name = name
        self.prefix = prefix
        self.operations: list[Operation] = []

    def get(self, path: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401  those of `on`
        """Look at something."""
        return self.on("GET", path, **{"needs": Need.LOOK, **options})

    def post(self, path: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401  likewise
        """Make something, or have something done."""
        return self.on("POST", path, **options)

    def put(self, path: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401  likewise
        """Make something, or make it anew."""
        return self.on("PUT", path, **options)

    def patch(self, path: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401  likewise
        """Change something."""
        return self.on("PATCH", path, **options)

    def delete(self, path: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401  likewise
        """Take something away."""
        return self.on("DELETE", path, **options)

    def on(  # noqa: PLR0913  what an operation may be told
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
        body: Any = None,  # noqa: ANN401  a type
        most_bytes: int = MOST_BYTES,
        name: str | None = None,
    ) -> Callable[[Handler], Handler]:
        """Declare what the decorated function does."""

        def declare(handler: Handler) -> Handler:
            hints = get_type_hints(handler, include_extras=True)
            answer = _written(hints["return"])
            usual = HTTPStatus.NO_CONTENT if answer is None else HTTPStatus.OK
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
                    statuses=(int(status or usual), *also),
                    fails=fails,
                    most_bytes=most_bytes,
                )
            )
            return handler

        return declare


def _written(annotated: Any) -> Any:  # noqa: ANN401  types
    """What is written: `T` of `T` and of `Reply[T]`; None for nothing."""
    if get_origin(annotated) is Reply:
        (annotated,) = get_args(annotated)
    return None if annotated is type(None) else annotated

"""Lists are answered a page at a time: `iterator` leads on, `prevIterator` leads back."""

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, Literal, TypeVar

from msgspec import Meta, Struct

from tarry.service.model.listing import Cut

MOST = 250
BACK = "-"
"""Before an id: the page that ends before it."""

Mark = Annotated[str, Meta(min_length=1, max_length=260, pattern=r"^-?[a-zA-Z0-9\-_.]+\Z")]

T = TypeVar("T")
S = TypeVar("S")


class ListQuery(Struct, kw_only=True):
    """How much of a list, and from where on."""

    limit: Annotated[int, Meta(ge=1, le=MOST)] = 50
    iterator: Mark | None = None

    @property
    def mark(self) -> str:
        """The id that the page begins or ends at; empty if it is the first one."""
        return (self.iterator or "").removeprefix(BACK)

    @property
    def back(self) -> bool:
        """Whether the page ends before its mark."""
        return (self.iterator or "").startswith(BACK)


class OrderedQuery(ListQuery, kw_only=True):
    """The same, and in which order."""

    order: Literal["ascending", "descending"] | None = None


class Page(Struct, Generic[T], rename="camel"):
    """A part of a list. `done` tells that nothing follows in the direction it was asked for."""

    data: list[T]
    iterator: str | None
    prev_iterator: str | None
    done: bool


def cut(query: ListQuery, *, descending: bool = False) -> Cut:
    """What to ask the store for: one more than is shown, to know whether there is more."""
    if isinstance(query, OrderedQuery) and query.order is not None:
        descending = query.order == "descending"
    return Cut(query.limit + 1, query.mark, query.back, descending)


def page(
    found: Sequence[S],
    query: ListQuery,
    written: Callable[[S], T],
    mark: Callable[[S], str],
) -> Page[T]:
    """A page of what the store found by `cut(query)`, and what leads on and back."""
    shown = found[-query.limit :] if query.back else found[: query.limit]
    return Page(
        data=[written(one) for one in shown],
        iterator=mark(shown[-1]) if shown else None,
        prev_iterator=BACK + mark(shown[0]) if shown else None,
        done=len(found) <= query.limit,
    )

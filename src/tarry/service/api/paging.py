"""Lists are answered a page at a time: `iterator` leads on, `prevIterator` leads back."""

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, Literal, TypeVar

from msgspec import Meta, Struct

from tarry.service.model.listing import LOOK, Cut

MOST = 250
BACK = "-"
"""Before an id: the page that ends before it."""

# An iterator, by what is listed: one of another list would lead to a page at random.
Mark = Annotated[str, Meta(min_length=1, max_length=260, pattern=r"^-?[a-zA-Z0-9\-_.]+\Z")]
ApplicationMark = Annotated[str, Meta(pattern=r"^-?app_[a-zA-Z0-9]{27}\Z")]
EndpointMark = Annotated[str, Meta(pattern=r"^-?ep_[a-zA-Z0-9]{27}\Z")]
MessageMark = Annotated[str, Meta(pattern=r"^-?msg_[a-zA-Z0-9]{27}\Z")]
AttemptMark = Annotated[str, Meta(pattern=r"^-?atmpt_[a-zA-Z0-9]{27}\Z")]
TaskMark = Annotated[str, Meta(pattern=r"^-?qtask_[a-zA-Z0-9]{27}\Z")]
KeyMark = Annotated[str, Meta(pattern=r"^-?key_[a-zA-Z0-9]{27}\Z")]

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
    """A part of a list. `done` tells that nothing follows in the direction it was asked for.

    One that is not done may have fewer entries than its limit, or none, if what is wanted is rare:
    a request looks at no more than 50,000. What is next leads on from there.
    """

    data: list[T]
    iterator: str | None
    prev_iterator: str | None
    done: bool


def cut(query: ListQuery, *, descending: bool = False) -> Cut:
    """What to ask the store for: one more than is shown, to know whether there is more."""
    if isinstance(query, OrderedQuery) and query.order is not None:
        descending = query.order == "descending"
    return Cut(query.limit + 1, query.mark, query.back, descending, LOOK)


def page(
    found: Sequence[S],
    query: ListQuery,
    written: Callable[[S], T],
    mark: Callable[[S], str],
    *,
    left_at: str | None = None,
) -> Page[T]:
    """A page of what the store found by `cut(query)`, and what leads on and back.

    If the store looked no further than `left_at`, the way that was asked for leads on from there.
    """
    shown = found[-query.limit :] if query.back else found[: query.limit]
    first, last = (mark(shown[0]), mark(shown[-1])) if shown else (left_at, left_at)
    if left_at is not None:
        first, last = (left_at, last) if query.back else (first, left_at)
    return Page(
        data=[written(one) for one in shown],
        iterator=last,
        prev_iterator=None if first is None else BACK + first,
        done=left_at is None and len(found) <= query.limit,
    )

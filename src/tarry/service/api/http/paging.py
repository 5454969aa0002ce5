"""Paging of lists: `iterator` leads to the next page, `prevIterator` to the previous one."""

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, Literal, TypeVar

from msgspec import Meta, Struct

from tarry.service.model.listing import MOST_CHECKED, Cut

MOST_PER_PAGE = 250
MOST_PAGE_BYTES = 8 * 1024 * 1024
"""A page ends before its payloads or schemas have more bytes together."""
BACK_PREFIX = "-"
"""The prefix of an iterator that asks for the page before an id."""

# One type of iterator for each list: an iterator of another list would lead to an arbitrary page.
Mark = Annotated[str, Meta(min_length=1, max_length=260, pattern=r"^-?[a-zA-Z0-9\-_.]+\Z")]
ApplicationMark = Annotated[str, Meta(pattern=r"^-?app_[a-zA-Z0-9]{27}\Z")]
EndpointMark = Annotated[str, Meta(pattern=r"^-?ep_[a-zA-Z0-9]{27}\Z")]
MessageMark = Annotated[str, Meta(pattern=r"^-?msg_[a-zA-Z0-9]{27}\Z")]
AttemptMark = Annotated[str, Meta(pattern=r"^-?atmpt_[a-zA-Z0-9]{27}\Z")]
TaskMark = Annotated[str, Meta(pattern=r"^-?qtask_[a-zA-Z0-9]{27}\Z")]
AuditMark = Annotated[str, Meta(pattern=r"^-?audit_[a-zA-Z0-9]{27}\Z")]
KeyMark = Annotated[str, Meta(pattern=r"^-?key_[a-zA-Z0-9]{27}\Z")]

T = TypeVar("T")
S = TypeVar("S")


class ListQuery(Struct, kw_only=True):
    """The size of the page, and where it starts."""

    limit: Annotated[int, Meta(ge=1, le=MOST_PER_PAGE)] = 50
    iterator: Mark | None = None

    @property
    def mark(self) -> str:
        """The id that the page follows or precedes; empty for the first page."""
        return (self.iterator or "").removeprefix(BACK_PREFIX)

    @property
    def back(self) -> bool:
        """Whether the page precedes its mark."""
        return (self.iterator or "").startswith(BACK_PREFIX)


class OrderedQuery(ListQuery, kw_only=True):
    """The size of the page, where it starts, and the order of the list."""

    order: Literal["ascending", "descending"] | None = None


class Page(Struct, Generic[T], rename="camel"):
    """A page of a list. `done` means that nothing follows in the requested direction.

    A page that is not done may have fewer entries than its limit, or none, if few entries match:
    one request checks at most 50,000 entries. A page of messages or event types has fewer if their
    payloads or schemas would have more than 8 MB together. The next page continues there.
    """

    data: list[T]
    iterator: str | None
    prev_iterator: str | None
    done: bool


def cut(query: ListQuery, *, descending: bool = False) -> Cut:
    """Return the part of the list to read: one entry more than the page, to know if more follow."""
    if isinstance(query, OrderedQuery) and query.order is not None:
        descending = query.order == "descending"
    return Cut(query.limit + 1, query.mark, query.back, descending, MOST_CHECKED, MOST_PAGE_BYTES)


def page(
    entries: Sequence[S],
    query: ListQuery,
    show: Callable[[S], T],
    mark: Callable[[S], str],
    *,
    left_at: str | None = None,
) -> Page[T]:
    """Return a page of the entries that the store found for `cut(query)`, with its iterators.

    If the store stopped at `left_at`, the next page continues there.
    """
    shown = entries[-query.limit :] if query.back else entries[: query.limit]
    first, last = (mark(shown[0]), mark(shown[-1])) if shown else (left_at, left_at)
    if left_at is not None:
        first, last = (left_at, last) if query.back else (first, left_at)
    return Page(
        data=[show(entry) for entry in shown],
        iterator=last,
        prev_iterator=None if first is None else BACK_PREFIX + first,
        done=left_at is None and len(entries) <= query.limit,
    )

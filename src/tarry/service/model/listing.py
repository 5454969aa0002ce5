"""Pages of lists: where a page starts, its direction, and filters."""

import math
from collections.abc import Iterable
from itertools import accumulate, takewhile
from typing import Generic, TypeVar

from msgspec import Struct

from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.ids import moment
from tarry.service.model.message import Message

Thing = TypeVar("Thing")

FIRST, LAST = "", "\U0010ffff"
"""Sort before and after every id."""
GRAIN = 5e-7
"""A float for the start of a millisecond may be this much too small."""


MOST_CHECKED = 50_000
"""The most entries that are examined for one page."""


class Cut(Struct, frozen=True):
    """At most `limit` entries of a list, in the order of the list.

    The page starts after `mark`, an id that need not exist any more; with `back` it ends just
    before it. Without a mark it is the first page (with `back`, the last one). Entries that fit
    a filter may be rare, so at most `look` entries are examined, and the hits among them are
    the page. A page of messages or event types also ends before their payloads or schemas have more
    than `most_bytes`, but not before its first entry.
    """

    limit: int = 50
    mark: str = ""
    back: bool = False
    descending: bool = False
    look: int = MOST_CHECKED
    most_bytes: int | None = None

    @property
    def upwards(self) -> bool:
        """Whether ids grow from the mark towards the entries of the page."""
        return self.back == self.descending

    def between(self, low: str, high: str) -> tuple[str, str]:
        """Return the range of ids on the page's side of the mark, within `low` and `high`."""
        if not self.mark:
            return low, high
        return (max(low, self.mark), high) if self.upwards else (low, min(high, self.mark))

    def fitting(self, sizes: Iterable[int]) -> int:
        """Return how many entries of these sizes a page may have: at least one."""
        most = math.inf if self.most_bytes is None else self.most_bytes
        fits = takewhile(lambda total: total <= most, accumulate(sizes))
        return min(self.limit, max(1, sum(1 for _ in fits)))

    def in_order(self, entries: list[Thing]) -> list[Thing]:
        """Return entries that were read starting at the mark in the order of the list."""
        page = entries[: self.limit]
        return page[::-1] if self.back else page


class Found(Struct, Generic[Thing], frozen=True):
    """The entries of a page, in the order of the list.

    If the search stopped before the page was full and there may be more entries, `left_at` is
    the mark to continue from, in the same direction.
    """

    entries: list[Thing]
    left_at: str | None = None


def span_of_ids(prefix: str, after: float | None, before: float | None) -> tuple[str, str]:
    """Return the ids between which all ids made at `after` or later and before `before` are."""
    return (
        FIRST if after is None else prefix + moment(after + GRAIN),
        LAST if before is None else prefix + moment(before + GRAIN),
    )


class MessageFilter(Struct, frozen=True, kw_only=True):
    """Selects messages that fit all fields that are set.

    The message was accepted at `after` or later and earlier than `before`, by the milliseconds
    of its id. It has the `channel` and the `tag`, and its type is one of `event_types`.
    """

    before: float | None = None
    after: float | None = None
    channel: str | None = None
    tag: str | None = None
    event_types: tuple[str, ...] | None = None

    def span(self, prefix: str) -> tuple[str, str]:
        """Return the ids between which all ids of this time range are."""
        return span_of_ids(prefix, self.after, self.before)

    def fits(self, message: Message) -> bool:
        """Return whether a message fits, apart from the time range."""
        return (
            (self.channel is None or self.channel in message.channels)
            and (self.tag is None or self.tag in message.tags)
            and (self.event_types is None or message.event_type in self.event_types)
        )


class DeliveryFilter(Struct, frozen=True, kw_only=True):
    """Selects deliveries of messages: in one of `states`, and `tried` at least once or never."""

    message: MessageFilter = MessageFilter()
    states: frozenset[State] | None = None
    tried: bool | None = None

    def fits(self, delivery: Delivery, message: Message) -> bool:
        """Return whether a delivery fits, apart from the time range of its message."""
        return (
            (self.states is None or delivery.state in self.states)
            and (self.tried is None or (delivery.tries > 0) == self.tried)
            and self.message.fits(message)
        )


class AttemptFilter(Struct, frozen=True, kw_only=True):
    """Selects attempts; `message.before` and `after` apply to the attempt's own id here.

    An attempt `succeeded` if it has no kind of failure. `status_class` is 0 for attempts without
    a response, 100 to 500 for responses of that class. `lane` is the lane of the attempt.
    """

    message: MessageFilter = MessageFilter()
    succeeded: bool | None = None
    status_class: int | None = None
    lane: int | None = None

    def fits(self, attempt: Attempt, message: Message) -> bool:
        """Return whether an attempt fits, apart from the time range."""
        return (
            (self.succeeded is None or (attempt.kind is None) == self.succeeded)
            and (self.status_class is None or _class_of_status(attempt.status) == self.status_class)
            and (self.lane is None or attempt.lane == self.lane)
            and self.message.fits(message)
        )


def _class_of_status(status: int | None) -> int:
    """Return the class of a status, such as 500 for 503; 0 if there was no response."""
    return 0 if status is None else status // 100 * 100

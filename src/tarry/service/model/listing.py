"""Parts of lists: where a page begins, which way it goes, and what is left out."""

from typing import Generic, TypeVar

from msgspec import Struct

from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.ids import moment
from tarry.service.model.message import Message

Thing = TypeVar("Thing")

FIRST, LAST = "", "\U0010ffff"
"""Sort before and behind every id."""
GRAIN = 5e-7
"""A float that stands for a millisecond's beginning may lie as much before it."""


LOOK = 50_000
"""Entries of a list that are looked at for one page, at the most."""


class Cut(Struct, frozen=True):
    """At most `limit` entries of a list, in the order of the list.

    Those behind `mark`, an id that need not be there any more; with `back` the last ones before it.
    Without a mark the list begins (with `back`: ends) the page. What is wanted of a long list may
    be rare: `look` entries are looked at, and what was found of them is the page.
    """

    limit: int = 50
    mark: str = ""
    back: bool = False
    descending: bool = False
    look: int = LOOK

    @property
    def upwards(self) -> bool:
        """Whether ids grow on the way from the mark to what is wanted."""
        return self.back == self.descending

    def between(self, low: str, high: str) -> tuple[str, str]:
        """The span of ids between two, both left out, that is not beyond the mark either."""
        if not self.mark:
            return low, high
        return (max(low, self.mark), high) if self.upwards else (low, min(high, self.mark))

    def in_order(self, found: list[Thing]) -> list[Thing]:
        """What was found on the way from the mark, in the order of the list."""
        page = found[: self.limit]
        return page[::-1] if self.back else page


class Found(Struct, Generic[Thing], frozen=True):
    """What of a cut was found, in the order of the list.

    `left_at` is set if there may be more, though fewer were found than the cut has room for: it is
    the mark to go on from, the same way.
    """

    entries: list[Thing]
    left_at: str | None = None


class MessageFilter(Struct, frozen=True, kw_only=True):
    """Which messages: those that fit everything that is named.

    A message was accepted from `after` on and earlier than `before`, by the milliseconds of its id.
    A `channel` or `tag` is one of its own; `event_types` holds its type.
    """

    before: float | None = None
    after: float | None = None
    channel: str | None = None
    tag: str | None = None
    event_types: tuple[str, ...] | None = None

    def span(self, prefix: str) -> tuple[str, str]:
        """The two that ids of this time lie between."""
        return (
            FIRST if self.after is None else prefix + moment(self.after + GRAIN),
            LAST if self.before is None else prefix + moment(self.before + GRAIN),
        )

    def fits(self, message: Message) -> bool:
        """Whether a message is one of them, whenever it was accepted."""
        return (
            (self.channel is None or self.channel in message.channels)
            and (self.tag is None or self.tag in message.tags)
            and (self.event_types is None or message.event_type in self.event_types)
        )


class DeliveryFilter(Struct, frozen=True, kw_only=True):
    """Which deliveries of those messages: in one of `states`, `tried` at least once or never."""

    message: MessageFilter = MessageFilter()
    states: frozenset[State] | None = None
    tried: bool | None = None

    def fits(self, delivery: Delivery, message: Message) -> bool:
        """Whether a delivery is one of them, whenever its message was accepted."""
        return (
            (self.states is None or delivery.state in self.states)
            and (self.tried is None or (delivery.tries > 0) == self.tried)
            and self.message.fits(message)
        )


class AttemptFilter(Struct, frozen=True, kw_only=True):
    """Which attempts: `message.before` and `after` are about the attempt's own id here.

    One that `succeeded` has no kind of failure. `status_class` is 0 for those without an answer,
    100 to 500 for answers of that hundred. `lane` is where it was made.
    """

    message: MessageFilter = MessageFilter()
    succeeded: bool | None = None
    status_class: int | None = None
    lane: int | None = None

    def fits(self, attempt: Attempt, message: Message) -> bool:
        """Whether an attempt is one of them, whenever it was made."""
        return (
            (self.succeeded is None or (attempt.kind is None) == self.succeeded)
            and (self.status_class is None or _hundred(attempt.status) == self.status_class)
            and (self.lane is None or attempt.lane == self.lane)
            and self.message.fits(message)
        )


def _hundred(status: int | None) -> int:
    return 0 if status is None else status // 100 * 100

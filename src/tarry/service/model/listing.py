"""Parts of lists: where a page begins, which way it goes, and what is left out."""

from msgspec import Struct

from tarry.service.model.delivery import State


class Cut(Struct, frozen=True):
    """At most `limit` entries of a list, in the order of the list.

    Those behind `mark`, an id that need not be there any more; with `back` the last ones before it.
    Without a mark the list begins (with `back`: ends) the page.
    """

    limit: int = 50
    mark: str = ""
    back: bool = False
    descending: bool = False


class MessageFilter(Struct, frozen=True, kw_only=True):
    """Which messages: those that fit everything that is named.

    `before` and `after` are instants that a message was accepted earlier or later than. A `channel`
    or `tag` is one of the message's own; `event_types` holds its type.
    """

    before: float | None = None
    after: float | None = None
    channel: str | None = None
    tag: str | None = None
    event_types: tuple[str, ...] | None = None


class DeliveryFilter(Struct, frozen=True, kw_only=True):
    """Which deliveries of those messages: in one of `states`, `tried` at least once or never."""

    message: MessageFilter = MessageFilter()
    states: frozenset[State] | None = None
    tried: bool | None = None


class AttemptFilter(Struct, frozen=True, kw_only=True):
    """Which attempts: `message.before` and `after` are instants of the attempt itself here.

    `status_class` is 0 for those without an answer, 100 to 500 for answers of that hundred. `lane`
    is where it was made.
    """

    message: MessageFilter = MessageFilter()
    succeeded: bool | None = None
    status_class: int | None = None
    lane: int | None = None

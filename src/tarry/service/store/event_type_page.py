"""The page of a list of event types, which ends where their schemas become too large."""

from tarry.service.model.event_type import EventType
from tarry.service.model.listing import Cut, Found


def page_of_event_types(read: list[EventType], cut: Cut) -> Found[EventType]:
    """Return the page that event types make which were read from the mark on.

    A store may stop reading after the first one that does not fit into `cut.most_bytes`.
    """
    fitting = cut.fitting(event_type.bytes for event_type in read)
    if fitting < min(len(read), cut.limit):
        return Found(cut.in_order(read[:fitting]), read[fitting - 1].name)
    return Found(cut.in_order(read))

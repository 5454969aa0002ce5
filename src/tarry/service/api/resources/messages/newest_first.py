"""Lists of recent messages and attempts, newest first.

Unless the query has two bounds, a list covers 90 days: before now, or from the end of the last
page.
"""

from tarry.service.api.http.paging import ListQuery, cut
from tarry.service.api.http.times import Instant, seconds
from tarry.service.api.resources.messages.bodies import Channel, Name, Tag
from tarry.service.model import ids
from tarry.service.model.listing import Cut, MessageFilter

LIST_SPAN = 90 * 86_400.0
"""Seconds that a list covers if its query has at most one bound."""
LATEST_IN_IDS = 2e11
"""Later times, in seconds since 1970, do not fit into an id."""


class RecentQuery(ListQuery, kw_only=True):
    """Which messages or attempts to list: since `after`, and earlier than `before`.

    With only `after`, the list starts there: its first page has the oldest entries.
    """

    before: Instant | None = None
    after: Instant | None = None
    channel: Channel | None = None
    tag: Tag | None = None
    event_types: list[Name] | None = None

    @property
    def back(self) -> bool:
        """Whether the page ends before its mark, or starts at `after`, as the oldest page."""
        if self.iterator is None:
            return self.after is not None and self.before is None
        return super().back


def recent_cut(query: RecentQuery) -> Cut:
    """Return the part of the list to read."""
    return cut(query, descending=True)


def filtered(query: RecentQuery, prefix: str, now: float) -> MessageFilter:
    """Return the filter of a query; `prefix` is that of the ids in the list."""
    after, before = _span(query, prefix, now)
    return MessageFilter(
        after=after,
        before=before,
        channel=query.channel,
        tag=query.tag,
        event_types=None if query.event_types is None else tuple(query.event_types),
    )


def _span(query: RecentQuery, prefix: str, now: float) -> tuple[float | None, float | None]:
    """Return the start and end of the listed period; None for no bound on that side."""
    after, before = (
        None if at is None else min(at, LATEST_IN_IDS)
        for at in map(seconds, (query.after, query.before))
    )
    if before is not None:
        return before - LIST_SPAN if after is None else after, before
    if after is not None:
        return after, min(after + LIST_SPAN, LATEST_IN_IDS)
    if not ids.well_formed(query.mark, prefix):
        return now - LIST_SPAN, None
    at = ids.made_at(query.mark)
    return (None, at + LIST_SPAN) if query.back else (at - LIST_SPAN, None)

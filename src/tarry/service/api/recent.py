"""Lists of what came lately, the newest first: messages and attempts.

Unless it is told otherwise a list covers 90 days: before now, or on from where a page ended.
"""

from tarry.service.api.messages import Channel, Name, Tag
from tarry.service.api.paging import ListQuery, cut
from tarry.service.api.times import Instant, seconds
from tarry.service.model import ids
from tarry.service.model.listing import Cut, MessageFilter

RECENT = 90 * 86_400.0
"""How long a time a list covers that is bounded on one side, or not at all."""
FAR = 2e11
"""Ids cannot say later seconds."""


class RecentQuery(ListQuery, kw_only=True):
    """Which part of what came lately: from `after` on, and earlier than `before`.

    A list that only has a beginning is shown from there on: its first page is the oldest one.
    """

    before: Instant | None = None
    after: Instant | None = None
    channel: Channel | None = None
    tag: Tag | None = None
    event_types: list[Name] | None = None

    @property
    def back(self) -> bool:
        """Whether the page ends before its mark, or begins the time that is asked for."""
        if self.iterator is None:
            return self.after is not None and self.before is None
        return super().back


def recent_cut(query: RecentQuery) -> Cut:
    """What to ask the store for."""
    return cut(query, descending=True)


def filtered(query: RecentQuery, prefix: str, now: float) -> MessageFilter:
    """Which messages are wanted; ids of what is listed begin with `prefix`."""
    after, before = _span(query, prefix, now)
    return MessageFilter(
        after=after,
        before=before,
        channel=query.channel,
        tag=query.tag,
        event_types=None if query.event_types is None else tuple(query.event_types),
    )


def _span(query: RecentQuery, prefix: str, now: float) -> tuple[float | None, float | None]:
    """From when until when: half a bound becomes two."""
    after, before = (
        None if at is None else min(at, FAR) for at in map(seconds, (query.after, query.before))
    )
    if before is not None:
        return before - RECENT if after is None else after, before
    if after is not None:
        return after, min(after + RECENT, FAR)
    if not ids.well_formed(query.mark, prefix):
        return now - RECENT, None
    at = ids.made_at(query.mark)
    return (None, at + RECENT) if query.back else (at - RECENT, None)

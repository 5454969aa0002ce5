from datetime import UTC, datetime

import pytest

from tarry.service.api.resources.messages.newest_first import (
    LATEST_IN_IDS,
    LIST_SPAN,
    RecentQuery,
    filtered,
    recent_cut,
)
from tarry.service.model import ids

NOW = 1_700_000_000.0
MARK = ids.make(ids.MESSAGE, now=NOW - 5.0, entropy=bytes(ids.CHANCE))


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@pytest.mark.parametrize(
    ("query", "after", "before"),
    [
        (RecentQuery(), NOW - LIST_SPAN, None),
        (RecentQuery(before=at(NOW - 9)), NOW - 9 - LIST_SPAN, NOW - 9),
        (RecentQuery(after=at(NOW - 9)), NOW - 9, NOW - 9 + LIST_SPAN),
        (RecentQuery(after=at(9), before=at(NOW)), 9, NOW),
        (RecentQuery(iterator=MARK), NOW - 5 - LIST_SPAN, None),
        (RecentQuery(iterator=f"-{MARK}"), None, NOW - 5 + LIST_SPAN),
        (RecentQuery(iterator="other"), NOW - LIST_SPAN, None),
        (RecentQuery(after=datetime(9999, 12, 31, tzinfo=UTC)), LATEST_IN_IDS, LATEST_IN_IDS),
    ],
)
def test_half_a_bound_becomes_two(
    query: RecentQuery, after: float | None, before: float | None
) -> None:
    chosen = filtered(query, ids.MESSAGE, NOW)
    assert (chosen.after, chosen.before) == (after, before)


@pytest.mark.parametrize(
    ("query", "back"),
    [
        (RecentQuery(), False),
        (RecentQuery(iterator=MARK), False),
        (RecentQuery(iterator=f"-{MARK}"), True),
        (RecentQuery(after=at(9)), True),
        (RecentQuery(after=at(9), before=at(99)), False),
        (RecentQuery(after=at(9), iterator=MARK), False),
    ],
)
def test_a_page_goes_from_the_newest_unless_only_a_beginning_is_known(
    query: RecentQuery, *, back: bool
) -> None:
    cut = recent_cut(query)
    assert (cut.back, cut.descending, cut.limit) == (back, True, 51)


def test_what_is_named_is_wanted() -> None:
    query = RecentQuery(channel="eu", tag="a", event_types=["x", "y"])
    chosen = filtered(query, ids.MESSAGE, NOW)
    assert (chosen.channel, chosen.tag, chosen.event_types) == (
        "eu",
        "a",
        ("x", "y"),
    )

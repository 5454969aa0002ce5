"""Instants as they are written over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from msgspec import Meta

Instant = Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})]
"""An instant, in UTC if no time zone is told: the SDKs for Python and C# leave it out."""
LATEST = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
"""Later ones cannot be written in every time zone."""
_LEAST = timedelta(microseconds=1)


def instant(at: float) -> datetime:
    """An instant as it is written: never later, so that it finds what it was written of.

    One that cannot be written is bent: programs may have told any number of seconds.
    """
    at = min(max(0.0, at), LATEST)
    near = datetime.fromtimestamp(at, UTC)
    return near if near.timestamp() <= at else near - _LEAST


def written(at: float | None) -> datetime | None:
    """The same, if there is one."""
    return None if at is None else instant(at)


def seconds(at: datetime | None) -> float | None:
    """Seconds since 1970, if there is an instant; one that could not be written back is bent."""
    if at is None:
        return None
    zoned = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return min(max(0.0, zoned.timestamp()), LATEST)

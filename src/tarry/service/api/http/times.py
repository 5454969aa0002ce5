"""Times in requests and responses."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from msgspec import Meta

Instant = Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})]
"""A time, in UTC if it has no time zone: the SDKs for Python and C# leave the zone out."""
LATEST = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
"""The latest time that can be written in every time zone."""
_RESOLUTION = timedelta(microseconds=1)


def instant(at: float) -> datetime:
    """Return a time for a response, rounded down, so that a query since this time finds the object.

    A time out of range becomes the nearest possible one: programs may have stored any number.
    """
    at = min(max(0.0, at), LATEST)
    near = datetime.fromtimestamp(at, UTC)
    return near if near.timestamp() <= at else near - _RESOLUTION


def instant_or_none(at: float | None) -> datetime | None:
    """Return a time for a response, if there is one."""
    return None if at is None else instant(at)


def seconds(at: datetime | None) -> float | None:
    """Return a request's time in seconds since 1970, if there is one.

    A time out of range becomes the nearest one that a response can show.
    """
    if at is None:
        return None
    zoned = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return min(max(0.0, zoned.timestamp()), LATEST)

"""When the server says to come back: `Retry-After` and the rate limit headers, read leniently.

Nothing here raises, whatever a server writes: an unreadable value is None. Waits are in seconds,
never negative, never above `LONGEST_DURATION`. `now` is the wall clock, seconds since 1970 in UTC.
"""

import re
from collections.abc import Mapping

from tarry.core.checks import LONGEST_DURATION

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)"
_DATES = tuple(
    re.compile(pattern, re.ASCII | re.IGNORECASE)
    for pattern in (
        # Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
        r"(?:[a-z]+, ?)?(?P<day>\d{1,2})[ -](?P<month>[a-z]{3})[ -](?P<year>\d{4}|\d\d) "
        + _TIME
        + r"(?: (?:GMT|UTC|UT|Z|[+-]0000))?",
        # Sun Nov  6 08:49:37 1994
        r"[a-z]+ (?P<month>[a-z]{3}) {1,2}(?P<day>\d{1,2}) " + _TIME + r" (?P<year>\d{4})",
    )
)
# A quote that never closes takes the rest with it: read once, however long a server makes it.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY = 86_400
_YEAR = 365.2425 * _DAY
_FIRST_EPOCH = 1e9
"""A reset above this is a point in time (2001 or later), below it a number of seconds."""

_RESETS = (
    ("ratelimit-remaining", "ratelimit-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
)


def parse_retry_after(value: str | None, *, now: float) -> float | None:
    """Read a `Retry-After` header: seconds or an HTTP date; a date gone by means at once.

    >>> parse_retry_after("120", now=0)
    120.0
    >>> parse_retry_after("Thu, 01 Jan 1970 00:01:00 GMT", now=15)
    45.0
    """
    if value is None:
        return None
    text = value.strip()
    seconds = _number(text.partition(",")[0])
    if seconds is not None:
        return _bounded(seconds)
    at = _http_date(text, now)
    return None if at is None else _bounded(at - now)


def parse_date(value: str | None, *, now: float) -> float | None:
    """Read an HTTP date, such as a server's own time in `Date`, as seconds since 1970.

    >>> parse_date("Thu, 01 Jan 1970 00:01:00 GMT", now=0)
    60.0
    """
    return None if value is None else _http_date(value.strip(), now)


def parse_rate_limit(headers: Mapping[str, str], *, now: float) -> float | None:
    """Read when a spent rate limit is filled up again; None if it is not spent.

    Knows the `RateLimit` field (`"default";r=0;t=30`; of several spent limits the last to
    be filled counts) and the older `RateLimit-Reset` and `X-RateLimit-Reset`, in seconds or
    as a point in time. A limit that does not say what remains counts as spent.
    """
    folded = {name.lower(): value for name, value in headers.items()}
    waits = _field_waits(folded.get("ratelimit", ""))
    if waits:
        return _bounded(max(waits))
    for remaining, reset in _RESETS:
        if reset in folded and not _some_remains(folded.get(remaining)):
            seconds = _number(folded[reset])
            if seconds is not None:
                return _bounded(seconds - now if seconds > _FIRST_EPOCH else seconds)
    return None


def _number(text: str | None) -> float | None:
    """Read a plain decimal number; `float` alone would take 1e5, 1_000, nan and others too."""
    if text is None or not _NUMBER.fullmatch(bare := text.strip()):
        return None
    return float(bare)


def _bounded(seconds: float) -> float:
    return min(max(0.0, seconds), LONGEST_DURATION)


def _some_remains(remaining: str | None) -> bool:
    """Say whether anything remains, as far as the server says."""
    return (_number(remaining) or 0.0) > 0


def _field_waits(field: str) -> list[float]:
    """Read how long each spent limit of a `RateLimit` field takes to fill up."""
    waits = []
    for item in _QUOTED.sub("", field).split(","):
        pairs = (parameter.partition("=") for parameter in item.split(";"))
        parameters = {name.strip().lower(): value for name, _, value in pairs}
        wait = _number(parameters.get("t"))
        if wait is not None and not _some_remains(parameters.get("r")):
            waits.append(wait)
    return waits


def _http_date(text: str, now: float) -> float | None:
    """Read one of the three forms of an HTTP date as seconds since 1970."""
    date = next((match for form in _DATES if (match := form.fullmatch(text))), None)
    if date is None or date["month"].lower() not in _MONTHS:
        return None
    month = _MONTHS.index(date["month"].lower())
    year, day = _year(date["year"], now), int(date["day"])
    hour, minute, second = (int(date[part]) for part in ("hour", "minute", "second"))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    month_days = _MONTH_DAYS[month] + (leap and month == 1)
    # A minute may have a 60th second: a leap second.
    if not (year and 1 <= day <= month_days and hour < 24 and minute < 60 and second <= 60):  # noqa: PLR2004  of clocks
        return None
    days = _days_before(year) + sum(_MONTH_DAYS[:month]) + (leap and month > 1) + day - 1
    return float(days * _DAY + hour * 3600 + minute * 60 + second)


def _year(text: str, now: float) -> int:
    """Read a year; of two digits, the latest such year not more than fifty years ahead."""
    year = int(text)
    if len(text) > 2:  # noqa: PLR2004  as the docstring says
        return year
    latest = 1970 + int(now / _YEAR) + 50
    return latest - (latest - year) % 100


def _days_before(year: int) -> int:
    """Count the days from 1970 to the first of a year's January, by the Gregorian calendar."""
    gone = year - 1
    return gone * 365 + gone // 4 - gone // 100 + gone // 400 - 719_162

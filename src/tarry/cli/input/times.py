"""Instants as people type and read them: `2h` ago, `30d` from now, or a date."""

import re
import time
from datetime import UTC, datetime
from functools import partial

import click

from tarry.cli.input.quantities import seconds
from tarry.core.duration import spoken

TIME_FORMS = "a duration like 2h, or an instant like 2026-01-31T14:00:00Z"
SHOWN_DECIMAL_BELOW = 10
"""Below this number, a decimal is shown as well: 8.3 min ago, but 12 min ago."""
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")


def ago(typed: str) -> datetime:
    """Read an instant; a duration means that long ago."""
    return _read(typed, -1)


def ahead(typed: str) -> datetime:
    """Read an instant; a duration means that far in the future."""
    return _read(typed, 1)


def _read(typed: str, direction: int) -> datetime:
    """Read a point in time, or a duration before or after now."""
    try:
        return datetime.fromtimestamp(time.time() + direction * seconds(typed), UTC)
    except (OverflowError, ValueError):
        pass
    except click.BadParameter:  # it is not a duration
        pass
    try:
        return datetime.fromisoformat(typed.strip()).astimezone(UTC)  # local if no zone is given
    except (OverflowError, ValueError):
        raise click.BadParameter(
            f"{typed!r} is neither {TIME_FORMS.replace(', or', ' nor')}"
        ) from None


BACK = "2h for two hours ago, or an instant like 2026-01-31T14:00:00Z"
since_option = partial(
    click.option, "--since", type=ago, metavar="WHEN", help=f"Start of the time span: {BACK}."
)
"""A factory: some commands require this option, others have a default."""
until_option = click.option(
    "--until",
    type=ago,
    metavar="WHEN",
    help="End of the time span, e.g. 1h for an hour ago. Default: now.",
)


def check_span(since: datetime | None, until: datetime | None) -> None:
    """Refuse a time span that ends before it begins, since nothing can be in it."""
    if since is not None and until is not None and until <= since:
        raise click.UsageError("--until must be after --since")


def to_api(at: datetime | None) -> str | None:
    """Write an instant as the API reads it."""
    return None if at is None else at.isoformat()


def describe(written: str | None) -> str:
    """Describe an instant of the API for people: how far away it is, and the local time."""
    if written is None:
        return ""
    at = datetime.fromisoformat(written).astimezone()
    now = datetime.now(UTC).astimezone()
    seconds_ahead = (at - now).total_seconds()
    near = _rough_duration(round(abs(seconds_ahead)))
    clock = _time_of_day(at, now)
    if abs(seconds_ahead) < 1:
        return f"now, {clock}"
    return f"in {near}, {clock}" if seconds_ahead > 0 else f"{near} ago, {clock}"


def _rough_duration(seconds: float) -> str:
    """Describe a duration roughly: 8.3 min, 12 h."""
    number, unit = spoken(seconds).split()
    amount = float(number.replace(",", ""))
    return (
        f"{amount:,.1f} {unit}".replace(".0 ", " ")
        if amount < SHOWN_DECIMAL_BELOW
        else f"{amount:,.0f} {unit}"
    )


def _time_of_day(at: datetime, now: datetime) -> str:
    """Return a time without its date if that is today's."""
    return f"{at:%H:%M:%S}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M}"


def with_local_times(sentence: str) -> str:
    """Replace the instants in a sentence of the API by local times."""
    now = datetime.now(UTC).astimezone()
    return _WRITTEN.sub(
        lambda at: _time_of_day(datetime.fromisoformat(at[0]).astimezone(), now), sentence
    )


def describe_due(written: str | None) -> str:
    """Describe when something is due, which may have passed already."""
    words = describe(written)
    return f"due since {words.rpartition(', ')[2]}" if " ago, " in words else words

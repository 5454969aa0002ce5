"""Instants as people type and read them: `2h` ago, `30d` from now, or a date; told both ways."""

import re
import time
from datetime import UTC, datetime
from functools import partial

import click

from tarry.cli.amounts import seconds
from tarry.core.duration import spoken

WANTED = "a duration like 2h, or an instant like 2026-01-31T14:00:00Z"
FEW = 10
"""Of which the first part counts too: 8.3 min ago, but 12 min ago."""
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")


def ago(typed: str) -> datetime:
    """Read an instant; a duration counts back from now."""
    return _read(typed, -1)


def ahead(typed: str) -> datetime:
    """Read an instant; a duration counts from now on."""
    return _read(typed, 1)


def _read(typed: str, direction: int) -> datetime:
    try:
        return datetime.fromtimestamp(time.time() + direction * seconds(typed), UTC)
    except (OverflowError, ValueError):
        pass
    except click.BadParameter:  # then it is no duration
        pass
    try:
        return datetime.fromisoformat(typed.strip()).astimezone(UTC)  # local, if no zone is told
    except (OverflowError, ValueError):
        raise click.BadParameter(f"{typed!r} is neither {WANTED.replace(', or', ' nor')}") from None


BACK = "2h for two hours ago, or an instant like 2026-01-31T14:00:00Z"
since_option = partial(
    click.option, "--since", type=ago, metavar="WHEN", help=f"From then on: {BACK}."
)
"""To be called: some commands need it, others have a default."""
until_option = click.option(
    "--until", type=ago, metavar="WHEN", help="Until then, likewise; now if not given."
)


def check_span(since: datetime | None, until: datetime | None) -> None:
    """Refuse a time that ends before it begins: nothing was ever found in one."""
    if since is not None and until is not None and until <= since:
        raise click.UsageError("--until is not after --since: nothing is in between")


def wire(at: datetime | None) -> str | None:
    """An instant as the API reads it."""
    return None if at is None else at.isoformat()


def told(written: str | None) -> str:
    """An instant of the API for people: how far away it is, and by the clock on the wall."""
    if written is None:
        return ""
    at = datetime.fromisoformat(written).astimezone()
    now = datetime.now(UTC).astimezone()
    away = (at - now).total_seconds()
    near = _near(round(abs(away)))
    clock = _clock(at, now)
    if abs(away) < 1:
        return f"now, {clock}"
    return f"in {near}, {clock}" if away > 0 else f"{near} ago, {clock}"


def _near(seconds: float) -> str:
    """A duration as one says it of something that is over: 8.3 min, 12 h."""
    number, unit = spoken(seconds).split()
    amount = float(number.replace(",", ""))
    return f"{amount:,.1f} {unit}".replace(".0 ", " ") if amount < FEW else f"{amount:,.0f} {unit}"


def _clock(at: datetime, now: datetime) -> str:
    return f"{at:%H:%M:%S}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M}"


def local(sentence: str) -> str:
    """A sentence of the API for people: its instants by the clock on the wall."""
    now = datetime.now(UTC).astimezone()
    return _WRITTEN.sub(
        lambda at: _clock(datetime.fromisoformat(at[0]).astimezone(), now), sentence
    )


def due(written: str | None) -> str:
    """The same of when something will happen: it may be over when it is told."""
    words = told(written)
    return f"due since {words.rpartition(', ')[2]}" if " ago, " in words else words

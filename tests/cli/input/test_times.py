from datetime import UTC, datetime, timedelta, tzinfo
from types import SimpleNamespace
from typing import Self

import click
import pytest

from tarry.cli.input import times
from tarry.cli.input.times import (
    ago,
    ahead,
    check_span,
    describe,
    describe_due,
    to_api,
    with_local_times,
)

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)


class Still(datetime):
    """Time that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls.fromtimestamp(NOW.timestamp(), tz)


@pytest.fixture(autouse=True)
def no_time_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "datetime", Still)
    monkeypatch.setattr(times, "time", SimpleNamespace(time=NOW.timestamp))


def from_now(**span: float) -> datetime:
    return NOW + timedelta(**span)


def test_a_duration_counts_back_or_on_from_now() -> None:
    assert ago("2h") == from_now(hours=-2)
    assert ahead("30d") == from_now(days=30)


def test_an_instant_is_what_it_says() -> None:
    at = datetime(2026, 1, 31, 14, tzinfo=UTC)
    assert ago("2026-01-31T14:00:00Z") == ahead("2026-01-31T15:00:00+01:00") == at
    assert ago("2026-01-31").astimezone().hour == 0


@pytest.mark.parametrize(
    "typed", ["", "soon", "2026-13-01", "99999999999d", "0001-01-01T00:00:00+14:00"]
)
def test_what_is_neither_is_refused(typed: str) -> None:
    with pytest.raises(click.BadParameter, match="neither a duration like 2h nor an instant"):
        ago(typed)


def test_it_is_written_with_its_zone() -> None:
    assert to_api(datetime(2026, 1, 31, 14, tzinfo=UTC)) == "2026-01-31T14:00:00+00:00"
    assert to_api(None) is None


@pytest.mark.parametrize(
    ("away", "begins"),
    [
        (0.0, "now, "),
        (-150.0, "2.5 min ago, "),
        (-36_000.0, "10 h ago, "),
        (90.4, "in 90 s, "),
        (-864_000.0, "10 d ago, "),
        (-499.0, "8.3 min ago, "),
        (-754.0, "13 min ago, "),
        (-94_608_000.0, "1,095 d ago, "),
    ],
)
def test_people_read_how_far_away_it_is_and_by_the_clock(away: float, begins: str) -> None:
    at = from_now(seconds=away)
    words = describe(at.isoformat())
    assert words.startswith(begins)
    assert f"{at.astimezone():%H:%M}" in words
    assert (f"{at.astimezone():%Y-%m-%d}" in words) is (
        at.astimezone().date() != NOW.astimezone().date()
    )


def test_a_time_does_not_end_before_it_begins() -> None:
    early, late = from_now(hours=-2), from_now(hours=-1)
    check_span(early, late)
    check_span(early, None)
    check_span(None, late)
    with pytest.raises(click.UsageError, match="--until must be after --since"):
        check_span(late, early)


def test_no_instant_is_no_words() -> None:
    assert describe(None) == ""


def test_what_should_have_happened_is_due() -> None:
    late = from_now(seconds=-30).astimezone()
    assert describe_due(late.isoformat()) == describe(late.isoformat()).replace(
        "30 s ago, ", "due since "
    )
    assert describe_due(from_now(seconds=90.4).isoformat()).startswith("in 90 s, ")
    assert describe_due(None) == ""


def test_sentences_have_the_clock_on_the_wall_in_them() -> None:
    today, old = from_now().astimezone(), from_now(days=-9).astimezone()
    written = [f"{at.astimezone(UTC).isoformat(timespec='milliseconds')}" for at in (today, old)]
    said = with_local_times(f"Attempt 1 at {written[0]}: none. It began {written[1]}.")
    assert said == f"Attempt 1 at {today:%H:%M:%S}: none. It began {old:%Y-%m-%d %H:%M}."

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from tarry.service.api.http.times import LATEST, instant, instant_or_none, seconds


def test_an_instant_is_written_with_its_zone() -> None:
    assert instant(1_700_000_000.5) == datetime(2023, 11, 14, 22, 13, 20, 500_000, UTC)
    assert instant_or_none(None) is None
    assert instant_or_none(0.0) == datetime(1970, 1, 1, tzinfo=UTC)


@given(st.floats(min_value=0, max_value=4e9))
def test_an_instant_that_is_given_back_is_not_after_what_it_was_written_of(at: float) -> None:
    again = instant(at).timestamp()
    assert at - 2e-6 < again <= at


@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2100, 1, 1)))  # noqa: DTZ001  in UTC below
def test_an_instant_that_came_in_is_written_as_it_was(naive: datetime) -> None:
    at = naive.replace(tzinfo=UTC)
    assert instant(at.timestamp()) == at


@given(st.floats(allow_nan=False))
def test_any_number_of_seconds_can_be_written(at: float) -> None:
    assert 0.0 <= instant(at).timestamp() <= LATEST


def test_an_instant_without_a_zone_is_in_utc() -> None:
    assert seconds(None) is None
    assert seconds(datetime(2023, 11, 14, 22, 13, 20)) == 1_700_000_000  # noqa: DTZ001  so it comes
    zone = timezone(timedelta(hours=5, minutes=30))
    assert seconds(datetime(2023, 11, 15, 3, 43, 20, tzinfo=zone)) == 1_700_000_000

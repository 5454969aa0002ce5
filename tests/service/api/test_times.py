from datetime import UTC, datetime

from tarry.service.api.times import instant, written


def test_an_instant_is_written_with_its_zone() -> None:
    assert instant(1_700_000_000.5) == datetime(2023, 11, 14, 22, 13, 20, 500_000, UTC)
    assert written(None) is None
    assert written(0.0) == datetime(1970, 1, 1, tzinfo=UTC)

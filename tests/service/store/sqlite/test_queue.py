"""Fetching does as much work as it brings, whatever else waits or has ended."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tarry.service.model.lane import Fetched, Stream, Want
from tarry.service.store.sqlite import schema
from tarry.service.store.sqlite.connection import connect
from tarry.service.store.sqlite.queue import fetch_from
from tarry.testing.samples import NOON
from tarry.testing.store_contract.scene import PLENTY

SHORT, LONG = 1, 2
SIZES = {SHORT: 800, LONG: 40_000}
FILL = """
WITH RECURSIVE counted (n) AS (
    SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < :size
)
INSERT INTO delivery (lane, seq, message, state, reason, due_at, accepted_at)
SELECT :lane, n, 1,
       CASE WHEN n < :size / 2 THEN 'delivered' WHEN n % 2 THEN 'ready' ELSE 'waiting' END,
       CASE WHEN n % 4 = 0 THEN 'scheduled' ELSE 'backoff' END, :noon + n % 400, :noon
  FROM counted
"""
Work = tuple[Fetched, int]


@pytest.fixture
def fetch(path: Path) -> Iterator[Callable[[Want], Work]]:
    """Fetch from a short or a long lane, and count the steps of SQLite's machine."""
    db = connect(path, create=True)
    schema.bring_up(db)
    db.execute(
        "INSERT INTO message (id, application, event_type, channels, tags, accepted_at, payload)"
        " VALUES ('msg_1', 'app', 'type', '[]', '[]', 0, x'00')"
    )
    for lane, size in SIZES.items():
        db.execute("INSERT INTO lane (number, shard) VALUES (?, 0)", (lane,))
        db.execute(FILL, {"lane": lane, "size": size, "noon": NOON})

    def counted(want: Want) -> Work:
        steps = 0

        def step() -> bool:
            nonlocal steps
            steps += 1
            return False

        db.set_progress_handler(step, 1)
        return fetch_from(db, [want], NOON + 200, PLENTY), steps

    yield counted
    db.close()


@pytest.mark.parametrize(
    ("stream", "place"),
    [
        (Stream.READY, {"after": 0}),
        (Stream.READY, {"after": 500, "before": 700}),
        (Stream.WAITING, {"due_after": 0.0}),
        (Stream.WAITING, {"due_after": NOON + 100}),
        (Stream.EARLY, {"due_after": 0.0}),
        (Stream.EARLY, {"due_after": NOON + 300}),
        (Stream.RESEND, {}),
    ],
    ids=str,
)
def test_the_work_of_a_fetch_depends_on_what_it_brings_only(
    fetch: Callable[[Want], Work], stream: Stream, place: dict[str, float]
) -> None:
    few, work_for_few = fetch(_want(SHORT, stream, **place))
    many, work_for_many = fetch(_want(LONG, stream, **place))
    if "before" not in place and stream is not Stream.RESEND:
        assert len(few.due) == len(many.due) == 20
    assert work_for_many <= work_for_few * 1.1


def test_what_is_not_brought_for_its_size_is_not_read_either(
    fetch: Callable[[Want], Work],
) -> None:
    _, work_for_one = fetch(_want(LONG, Stream.READY, limit=1))
    _, work_for_all = fetch(_want(LONG, Stream.READY, limit=20))
    assert work_for_one * 5 < work_for_all


def test_a_want_for_a_lane_that_is_not_there_brings_nothing(path: Path) -> None:
    db = apsw.Connection(str(path))
    schema.bring_up(db)
    assert fetch_from(db, [_want(9, Stream.READY)], NOON, PLENTY) == Fetched([], {}, {}, {})
    db.close()


def _want(lane: int, stream: Stream, **values: Any) -> Want:  # noqa: ANN401  whatever the fields are
    return Want(**{"lane": lane, "stream": stream, "limit": 20, **values})

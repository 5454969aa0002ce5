from pathlib import Path

import apsw
import pytest

from tarry.cli.bench.bare import bare_inserts


def test_all_rows_are_there_and_the_times_are_those_of_the_batches(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    inserted = bare_inserts(file, batches=3, batch=50)
    db = apsw.Connection(str(file))
    rows = list(
        db.execute(
            "SELECT number, seq, length(payload), state FROM message"
            " JOIN delivery ON message = number ORDER BY number"
        )
    )
    assert rows == [(number, number, 1024, "ready") for number in range(1, 151)]
    assert len(inserted.waits) == 3
    assert inserted.took == pytest.approx(sum(inserted.waits))
    assert inserted.quantile(0) <= inserted.quantile(0.99)
    assert inserted.cpu > 0

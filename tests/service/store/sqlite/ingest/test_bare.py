from pathlib import Path

import apsw

from tarry.service.store.sqlite.ingest.bare import BareFile


def test_every_message_has_a_delivery_and_the_number_that_follows(tmp_path: Path) -> None:
    path = tmp_path / "bare.db"
    file = BareFile(path)
    file.insert(file.rows(["msg_a", "msg_b"], b"{}", first=1, now=5.0))
    file.insert(file.rows(["msg_c"], b"{}", first=3, now=6.0))
    file.close()
    query = (
        "SELECT number, seq, state, message.accepted_at FROM message"
        " JOIN delivery ON message = number ORDER BY number"
    )
    assert list(apsw.Connection(str(path)).execute(query)) == [
        (1, 1, "ready", 5.0),
        (2, 2, "ready", 5.0),
        (3, 3, "ready", 6.0),
    ]

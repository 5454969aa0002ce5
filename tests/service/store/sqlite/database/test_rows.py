"""A value that becomes a row comes back as it was."""

from collections.abc import Sequence

import apsw
import pytest

from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint, Secret, Standing
from tarry.service.model.lane import Known, LaneRow
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.rows import LONGEST_STATEMENT, Row, write_rows
from tarry.testing.samples import NOON, a_message, an_application, an_endpoint

ODD = 'Ünï "quoted" \\ \n \U0001f43f'


def test_an_endpoint_is_kept_whole() -> None:
    endpoint = an_endpoint(
        "app_1",
        lane=7,
        description=ODD,
        event_types=("a", ODD),
        channels=(),
        secrets=(Secret(bytes(range(256)), 0.1 + 0.2), Secret(b"")),
        headers=b"\x00\xff",
        metadata={ODD: ODD},
        standing=Standing.PARKED,
        parked=((1.5, 2.5), (3.1, None)),
    )
    assert rows.ENDPOINT.decode(rows.document(endpoint)) == endpoint


@pytest.mark.parametrize("names", [(), ("one",), (ODD, "two")])
def test_a_message_is_kept_whole(names: tuple[str, ...]) -> None:
    message = a_message(
        "app_1",
        payload=b"\x00\xff",
        event_id=ODD,
        channels=names,
        tags=names,
        deliver_at=NOON,
        payload_until=NOON + 1,
        content_type="text/plain",
        sealed_with="dkey_1",
    )
    number, message_id, application, kind, *middle, payload, key = rows.message_row(5, message)
    assert number == 5
    assert rows.message((message_id, application, kind, payload, *middle, key)) == message


def test_a_delivery_comes_behind_its_endpoint() -> None:
    endpoint: Endpoint = an_endpoint("app_1", lane=3)
    row = (rows.document(endpoint), 3, 9, "msg_1", "waiting", "backoff", 1, 2, 0.5, 8.0, 7.0, None)
    stored, delivery = rows.delivery_with_endpoint(row)
    assert stored == endpoint
    assert (delivery.state, delivery.reason) == (State.WAITING, Reason.BACKOFF)
    assert (delivery.memory, delivery.due_at, delivery.accepted_at) == (0.5, 8.0, 7.0)


@pytest.mark.parametrize("known", [None, Known(pace=b"\x00{}", origin="https://a", failures=3)])
def test_a_lane_that_knows_nothing_yet_has_the_usual_knowledge(known: Known | None) -> None:
    endpoint, application = an_endpoint("app_1", lane=3), an_application()
    row = (
        rows.document(endpoint),
        rows.document(application),
        None if known is None else rows.document(known),
        5,
        2,
        4,
        "{}",
    )
    expected = LaneRow(
        endpoint=endpoint,
        application=application,
        policy="{}",
        known=known or Known(),
        added=5,
        ended=2,
        version=4,
    )
    assert rows.lane_row(row) == expected


def test_a_list_to_look_for_is_one_parameter() -> None:
    assert rows.array(iter([1, 2])) == "[1,2]"
    assert rows.words(rows.array(["a", ODD])) == ("a", ODD)


INSERT = "INSERT INTO kept SELECT * FROM (VALUES (?, ?)) WHERE column1 IS NOT NULL"
UPDATE = """
WITH told (number, word) AS (VALUES (?, ?))
UPDATE kept SET word = told.word FROM told WHERE kept.number = told.number
"""


@pytest.fixture
def db() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, word TEXT NOT NULL)")
    return db


@pytest.mark.parametrize(
    "count", [0, 1, 7, 8, 9, 63, 64, 65, 71, 72, 73, 128, 499, 500, 501, 573, 1000]
)
def test_each_row_is_written_once(db: apsw.Connection, count: int) -> None:
    rows = [(number, f"word {number}") for number in range(count)]
    write_rows(db, INSERT, rows)
    assert list(db.execute("SELECT number, word FROM kept ORDER BY number")) == rows
    changed = [(number, f"another {number}") for number, _ in rows]
    write_rows(db, UPDATE, changed)
    assert list(db.execute("SELECT number, word FROM kept ORDER BY number")) == changed


@pytest.mark.parametrize(
    ("count", "statement_count"), [(1000, 2), (999, 2), (501, 2), (500, 1), (37, 1), (0, 0)]
)
def test_many_rows_are_few_statements(
    db: apsw.Connection, count: int, statement_count: int
) -> None:
    assert (
        len(statements(db, INSERT, [(number, "word") for number in range(count)]))
        == statement_count
    )


def test_none_is_too_long_to_be_kept(db: apsw.Connection) -> None:
    columns = 20
    db.execute(f"CREATE TABLE wide ({', '.join(f'c{n}' for n in range(columns))})")
    marks = ", ".join("?" * columns)
    insert = f"INSERT INTO wide SELECT * FROM (VALUES ({marks})) WHERE column1 IS NOT NULL"  # noqa: S608  of marks only
    steps = statements(db, insert, [(0,) * columns] * 1000)
    assert max(map(len, steps)) <= LONGEST_STATEMENT
    assert db.execute("SELECT count(*) FROM wide").get == 1000


def statements(db: apsw.Connection, sql: str, rows: Sequence[Row]) -> list[str]:
    """Return the statements that write these rows."""
    steps: list[str] = []

    def note(_cursor: apsw.Cursor, sql: str, _values: object) -> bool:
        steps.append(sql)
        return True

    db.exec_trace = note
    write_rows(db, sql, rows)
    return steps


def test_a_row_that_cannot_be_kept_is_an_error(db: apsw.Connection) -> None:
    rows: list[tuple[int, str | None]] = [(number, "word") for number in range(70)]
    rows[65] = (65, None)
    with pytest.raises(apsw.ConstraintError):
        write_rows(db, INSERT, rows)

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from tarry.errors import StoreError
from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Due, Notice, Stream
from tarry.service.model.task import Task, Work
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.ingest.accept import MESSAGE
from tarry.service.store.postgres.queries import SQL
from tarry.testing.samples import (
    NOON,
    a_due,
    a_notice,
    a_task,
    an_application,
    an_attempt,
    an_endpoint,
)

WORDS = st.dictionaries(st.text(), st.text(), max_size=3)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("put_application", Application.__struct_fields__),
        ("put_endpoint", Endpoint.__struct_fields__),
        ("settle_attempts", Attempt.__struct_fields__),
        ("settle_notices", Notice.__struct_fields__),
        ("add_task", (*Task.__struct_fields__, "shard")),
        ("add_messages", MESSAGE),
    ],
)
def test_columns_are_inserted_in_the_order_of_the_fields(
    query: str, columns: tuple[str, ...]
) -> None:
    insertion = re.search(r"INSERT INTO tarry\.\w+ \(([^)]*)\)", SQL[query])
    assert insertion
    assert tuple(re.split(r",\s*", insertion[1])) == columns


def _row(kind: type[Struct], columns: tuple[object, ...]) -> dict[str, object]:
    """Return the row that the database would return after these values were inserted."""
    return dict(zip(kind.__struct_fields__, columns, strict=True))


@given(WORDS)
def test_metadata_comes_back_as_it_went_in(metadata: dict[str, str]) -> None:
    value = an_application(metadata=metadata, uid="acme", rate=2.5, most_waiting=7)
    assert rows.application(_row(Application, rows.from_application(value))) == value


def test_all_else_comes_back_as_it_went_in() -> None:
    endpoint = an_endpoint("app_1", parked=((NOON, None), (NOON, NOON + 1)), event_types=())
    assert rows.endpoint(_row(Endpoint, rows.from_endpoint(endpoint))) == endpoint
    attempt = an_attempt(a_due(), detail="so it was")
    assert rows.attempt(_row(Attempt, rows.from_attempt(attempt))) == attempt
    task = a_task(endpoint, Work.RECOVER, data={"a": [1]})
    assert rows.task(_row(Task, rows.from_task(task))) == task
    notice = a_notice(endpoint)
    assert rows.notice(_row(Notice, rows.from_notice(notice))) == notice


def test_of_a_resend_it_is_told_when_its_message_was_accepted() -> None:
    values = dict.fromkeys(Due.__struct_fields__) | {"stream": "resend", "message_accepted_at": 7.0}
    due = rows.due(values)
    assert (due.stream, due.accepted_at) == (Stream.RESEND, 7.0)


def test_rows_become_columns_also_when_there_are_none() -> None:
    assert rows.columns([(1, "a"), (2, "b")], 2) == [[1, 2], ["a", "b"]]
    assert rows.columns([], 3) == [[], [], []]


def test_a_nul_is_refused_and_shown() -> None:
    with pytest.raises(StoreError, match=r"NUL.*'in\\x00voice'"):
        rows.refuse_nul("fine", None, "in\0voice")


def test_every_other_character_may_pass() -> None:
    rows.refuse_nul("", None, "\x01\N{SNOWMAN}\U0010ffff")

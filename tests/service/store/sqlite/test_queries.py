"""Every query finds its rows by an index: its cost does not depend on the other rows."""

import re
from collections.abc import Iterator, Mapping
from inspect import getmembers, isfunction
from pathlib import Path

import apsw
import pytest
from apsw.ext import QueryPlan, query_info

from tarry.service.store.contract import Store
from tarry.service.store.sql_files import load
from tarry.service.store.sqlite import queries
from tarry.service.store.sqlite.database.connection import connect
from tarry.service.store.sqlite.migrate import schema
from tarry.service.store.sqlite.reading.listing import DOWN

QUERIES = load("tarry.service.store.sqlite")
METHODS = {name for name, _ in getmembers(Store, isfunction)}
SCAN = re.compile(r"SCAN (\w+)")
SMALL = {"shard", "worker", "checkup", "environment", "wake"}
SMALL |= {"asked", "json_each", "CONSTANT", "piece", "told"}
"""Tables that a query may scan, because they stay small."""
SORTED = {
    "read_deliveries": "the endpoints of one message",
    "release_left": "64 shards",
    "counts": "seven states",
    "sweep_messages": "those accepted in the same instant",
    "sweep_payloads": "likewise",
    "count_deliveries": "one piece of a lane",
    "count_attempts": "likewise",
}
"""Queries that may sort their rows, and how many rows they sort."""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    db = connect(tmp_path_factory.mktemp("plans") / "hooks.db", create=True)
    schema.bring_up(db)
    yield db
    db.close()


def plan(db: apsw.Connection, name: str, queries: Mapping[str, str] = queries.SQL) -> list[str]:
    """Return the steps of SQLite's plan of a query."""
    query_plan = query_info(db, queries[name], explain_query_plan=True).query_plan
    return list(_steps(query_plan)) if query_plan else []


def _steps(query_plan: QueryPlan) -> Iterator[str]:
    yield query_plan.detail
    for step in query_plan.sub or ():
        yield from _steps(step)


@pytest.mark.parametrize("name", QUERIES)
def test_nothing_that_grows_is_looked_through(db: apsw.Connection, name: str) -> None:
    looked_through = [
        step for step in plan(db, name) if (scan := SCAN.match(step)) and scan[1] not in SMALL
    ]
    if looked_through:  # in the order of an index, and only as far as the limit goes
        assert " LIMIT " in QUERIES[name].sql.replace("\n", " ")
        assert all("USING" in step for step in looked_through)
    if name not in SORTED:
        assert not [step for step in plan(db, name) if "TEMP B-TREE" in step]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("fetch_ready", "USING INDEX delivery_ready (lane=? AND seq>? AND seq<?)"),
        ("fetch_waiting", "USING INDEX delivery_waiting (lane=? AND (due_at,seq)>(?,?)"),
        ("fetch_early", "USING INDEX delivery_early (lane=? AND (due_at,seq)>(?,?))"),
        ("fetch_resend", "resend USING PRIMARY KEY (lane=?)"),
        ("fetch_next", "USING COVERING INDEX delivery_waiting (lane=? AND due_at>?)"),
        ("settle_found", "delivery USING PRIMARY KEY (lane=? AND seq=?)"),
        ("settle", "delivery USING PRIMARY KEY (lane=? AND seq=?)"),
        ("expire", "delivery USING INDEX delivery_aging (lane=? AND accepted_at<?)"),
        ("read_undelivered", "delivery_ready (lane=? AND seq>?)"),
        ("read_undelivered", "delivery_stuck (lane=? AND seq>?)"),
        ("read_undelivered", "MERGE (UNION ALL)"),
        ("read_undelivered_in", "delivery_ready (lane=? AND seq>?)"),
        ("read_undelivered_in", "delivery_stuck (lane=? AND seq>?)"),
        ("read_undelivered_in", "MERGE (UNION ALL)"),
        ("advance_failed", "delivery_stuck (lane=? AND seq>?)"),
        ("advance_live", "delivery_ready (lane=? AND seq>?)"),
        ("advance_live", "delivery_stuck (lane=? AND seq>?)"),
        ("advance_live", "MERGE (UNION ALL)"),
        ("advance_messages", "message_accepted (application=? AND (accepted_at,id)>(?,?)"),
        ("advance_payloads", "message_accepted (application=? AND (accepted_at,id)>(?,?)"),
        ("page_applications", "application_environment (environment=? AND id>? AND id<?)"),
        ("page_endpoints", "endpoint_application (application=? AND id>? AND id<?)"),
        ("page_messages", "message_application (application=? AND id>? AND id<?)"),
        ("page_deliveries_to", "delivery USING PRIMARY KEY (lane=? AND seq>? AND seq<?)"),
        ("page_deliveries_to_undelivered", "delivery_ready (lane=? AND seq>? AND seq<?)"),
        ("page_deliveries_to_undelivered", "delivery_stuck (lane=? AND seq>? AND seq<?)"),
        ("page_deliveries_to_undelivered", "delivery_dropped (lane=? AND seq>? AND seq<?)"),
        ("page_deliveries_to_undelivered", "MERGE (UNION ALL)"),
        ("page_deliveries_to_near", "delivery USING PRIMARY KEY (lane=? AND seq>?)"),
        ("page_attempts_to", "attempt USING PRIMARY KEY (lane=? AND id>? AND id<?)"),
        ("page_attempts_of", "attempt_message (message=? AND id>? AND id<?)"),
        ("get_attempt", "attempt_message (message=? AND id=?)"),
        ("expunge_attempt", "attempt_message (message=? AND id=?)"),
        ("count_deliveries", "delivery USING PRIMARY KEY (lane=? AND seq>?)"),
        ("count_attempts", "attempt USING PRIMARY KEY (lane=? AND id>? AND id<?)"),
        ("awake", "lane_awake (shard=?)"),
        ("next_task", "task_turn ((application,environment)>(?,?))"),
        ("add_task_pending", "task_pending (lane=?)"),
        ("page_event_types", "event_type_listed (environment=? AND name>?)"),
        ("page_event_types_down", "event_type_listed (environment=? AND name<?)"),
        ("page_keys", "api_key_listed (environment=? AND id>?)"),
        ("claim_known", "claim USING PRIMARY KEY (environment=? AND key=?)"),
        ("sweep_claims", "claim_at (at<?)"),
        ("sweep_portal_keys", "api_key_ended (ends_at<?)"),
        ("read_unsent_notices", "USING INDEX notice_untold"),
        ("sweep_messages", "message_kept (accepted_at>? AND accepted_at<?)"),
        ("sweep_payloads", "message_kept (accepted_at>? AND accepted_at<?)"),
    ],
)
def test_a_question_is_answered_by_the_index_made_for_it(
    db: apsw.Connection, name: str, step: str
) -> None:
    steps = plan(db, name)
    assert any(step in line for line in steps), "\n".join(steps)


@pytest.mark.parametrize("name", DOWN)
def test_a_list_is_read_from_its_end_by_the_same_indexes(db: apsw.Connection, name: str) -> None:
    steps = plan(db, name, DOWN)
    assert steps == plan(db, name)
    assert not [step for step in steps if "TEMP B-TREE" in step]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_a_method_of_a_store_or_a_step_of_one(name: str) -> None:
    assert any(name == method or name.startswith(f"{method}_") for method in METHODS)


def test_every_query_is_used() -> None:
    folder = Path(queries.__file__).parent
    code = "\n".join(file.read_text() for file in folder.rglob("*.py"))
    assert [name for name in QUERIES if f'"{name}"' not in code] == []
    assert set(re.findall(r'SQL\["(\w+)"\]', code)) <= set(QUERIES)

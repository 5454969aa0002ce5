"""Both dialects speak of the same things: a query is named for the method it serves, in both."""

from collections import defaultdict
from collections.abc import Mapping

import pytest

from tarry.service.store.contract import Store
from tarry.service.store.migrate import Migrator
from tarry.service.store.sql_files import Query, load

DIALECTS = {name: load(f"tarry.service.store.{name}") for name in ("postgres", "sqlite")}
GENERIC = {"get", "page", "read", "create", "put", "change", "delete"}
KINDS = {
    *("application", "applications", "attempt", "attempts", "attempts_of", "attempts_to"),
    *("audit", "entry", "data_key", "data_keys"),
    *("deliveries", "deliveries_to", "endpoint", "endpoints", "environment", "environments"),
    *("event_type", "event_types", "key", "keys", "lane", "message", "messages", "notices"),
    *("policy", "sealed", "task", "tasks", "undelivered", "undelivered_in", "unsent_notices"),
}
METHODS = {
    name for protocol in (Store, Migrator) for name in dir(protocol) if not name.startswith("_")
} - GENERIC | {f"{method}_{kind}" for method in GENERIC for kind in KINDS}
"""A generic method counts once for each kind."""
IN_POSTGRES_ONLY = {
    "collect": "nobody else's transaction can write into an SQLite file safely",
    "status": "an SQLite file has a number for its schema that needs no query",
    "up": "likewise",
}


def methods_served(queries: Mapping[str, Query]) -> dict[str, list[str]]:
    """The queries of each method: those that begin with its name; the longest name counts."""
    served = defaultdict(list)
    for query in queries:
        fitting = [method for method in METHODS if f"{query}_".startswith(f"{method}_")]
        served[max(fitting, key=len, default="")].append(query)
    return served


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_query_is_named_for_a_method_of_the_store(dialect: str) -> None:
    assert methods_served(DIALECTS[dialect])[""] == []


def test_both_dialects_have_queries_for_the_same_methods() -> None:
    postgres, sqlite = (methods_served(queries).keys() for queries in DIALECTS.values())
    assert postgres - sqlite == IN_POSTGRES_ONLY.keys()
    assert sqlite - postgres == set()


def test_a_query_that_both_dialects_have_is_described_in_both() -> None:
    for queries in DIALECTS.values():
        assert not [query.name for query in queries.values() if not query.purpose.endswith(".")]

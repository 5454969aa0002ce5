"""A short history on a real server: it keeps its promises, and its database is gone afterwards."""

import logging
from collections.abc import Iterator

import psycopg
import pytest

from tarry.service.store.kinds import Environment, Environments
from tarry.testing.postgres import Cluster, throw_away_cluster
from tests.simulation.checker.hand_made import HERE, ONE, accepted, added, log_of, requested
from tests.simulation.loop import Process
from tests.simulation.postgres import PostgresBase, by_time
from tests.simulation.run import run
from tests.simulation.steps import (
    AddApplication,
    AddEndpoint,
    Conditions,
    Failover,
    History,
    Kill,
    Send,
    StartWorker,
    StoreTrouble,
)
from tests.simulation.store_link import at_once

SHORT = History(
    Conditions(
        seed=1,
        store="postgres",
        latency=0.0,
        look=2.0,
        lease=4.0,
        length=10.0,
        watched_at_rest=False,
    ),
    (
        AddApplication(at=0, application=0),
        AddEndpoint(at=2, application=0, endpoint=0, origin=0),
        Send(at=3, application=0, message=0, count=10, apart=0.2, keyed=True),
        StoreTrouble(at=3.5, kind="cut", seconds=0.2, worker=0),
        Failover(at=4, lost=0.0),
        Kill(at=5, worker=0),
        StartWorker(at=5.5),
    ),
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    logging.disable(logging.CRITICAL)
    with throw_away_cluster(quick=True) as made:
        yield made
    logging.disable(logging.NOTSET)


def databases(cluster: Cluster) -> list[str]:
    with psycopg.connect(cluster.url) as server:
        rows = server.execute("SELECT datname FROM pg_database WHERE datname ~ '^history'")
        return [name for (name,) in rows.fetchall()]


def test_a_history_with_faults_keeps_its_promises(cluster: Cluster) -> None:
    outcome = run(SHORT, cluster=cluster)
    assert outcome.violations == []
    assert outcome.ending is not None
    assert len(outcome.ending.deliveries) == 10
    assert databases(cluster) == []


def test_a_process_has_connections_of_its_own_that_can_be_cut(cluster: Cluster) -> None:
    base = PostgresBase(cluster)
    try:
        at_once(base.store.put(Environment("org_default")))
        base.cut(Process("nobody"))
        assert at_once(base.store.read(Environments())) == [Environment("org_default")]
    finally:
        base.close()
    assert base.deadlocks == 0


def test_a_message_is_accepted_before_it_is_requested() -> None:
    assert by_time([requested(2, 1), accepted(2.1)]) == [requested(2, 1), accepted(2)]
    assert by_time([accepted(2.1)]) == [accepted(2.1)]


def test_a_message_that_was_added_beside_an_endpoint_went_there_if_it_has_a_delivery() -> None:
    for at in (1.5, 2.5):
        log = log_of(added(at), accepted(2))
        assert accepted(2, endpoints=()) in by_time(log, longest=0.6)
        assert accepted(2) in by_time(log, {(ONE, HERE)}, longest=0.6)
        assert accepted(2) in by_time(log, longest=0.4)


def test_a_message_that_was_added_beside_an_endpoint_of_another_tenant_does_not_go_there() -> None:
    log = log_of(added(1.9, application="app_two"), accepted(2, endpoints=()))
    assert accepted(2, endpoints=()) in by_time(log, {(ONE, HERE)}, longest=0.6)

"""Resends are sent, and tasks are finished in time."""

import pytest

from tarry.service.model.task import Task, Work
from tests.simulation.checker.hand_made import (
    HERE,
    ONE,
    added,
    answered,
    delivery,
    ending,
    requested,
    rules,
    story,
)
from tests.simulation.log import Asked, Entry, Fault, Lost

RESEND = Asked(at=5, wish="resend", endpoint=HERE, message=ONE)
AWAY = Fault(at=12, until=20, kind="away")


def task(finished_at: float | None) -> Task:
    return Task(
        id="task_one",
        work=Work.RECOVER,
        environment="default",
        application="app_one",
        endpoint=HERE,
        lane=1,
        created_at=10.0,
        finished_at=finished_at,
    )


def test_a_resend_is_sent() -> None:
    made: list[Entry] = [requested(6, 2), answered(6.1, 2)]
    assert rules([*story(), RESEND], ending(delivery())) == {"wish not granted"}
    assert rules([*story(), RESEND, *made], ending(delivery())) == set()


@pytest.mark.parametrize(("until", "broken"), [(70.0, {"wish not granted"}), (90.0, set())])
def test_a_resend_may_take_a_while_after_the_last_fault(until: float, broken: set[str]) -> None:
    nobody = Fault(at=4, until=until, kind="nobody at work")
    assert rules([*story(), nobody, RESEND], ending(delivery())) == broken


@pytest.mark.parametrize(
    ("fifo", "until", "broken"),
    [
        (False, 30.0, {"wish not granted"}),
        (True, 30.0, set()),  # the outcome is written at 90 at the latest
        (True, 19.0, {"wish not granted"}),
    ],
)
def test_a_resend_to_an_ordered_endpoint_waits_for_an_outcome_that_cannot_be_written(
    *, fifo: bool, until: float, broken: set[str]
) -> None:
    poison = Fault(at=4, until=until, kind="poison", message=ONE)
    log = [*story(), added(0.1, fifo=fifo), poison, RESEND]
    assert rules(log, ending(delivery())) == broken


def test_a_resend_that_a_failover_lost_is_not_sent() -> None:
    lost: list[Entry] = [Lost(6, 4), Fault(at=6, until=7, kind="failover")]
    assert rules([*story(), RESEND, *lost], ending(delivery())) == set()


@pytest.mark.parametrize(
    ("finished_at", "faults", "broken"),
    [
        (None, [], {"wish not granted"}),
        (None, [AWAY], {"wish not granted"}),
        (30.0, [], set()),
        (40.0, [], {"wish not granted"}),
        (40.0, [AWAY], set()),
    ],
)
def test_a_task_is_finished_and_soon_if_there_is_no_fault(
    finished_at: float | None, faults: list[Entry], broken: set[str]
) -> None:
    end = ending(delivery(), tasks=[task(finished_at)])
    assert rules([*story(), *faults], end) == broken

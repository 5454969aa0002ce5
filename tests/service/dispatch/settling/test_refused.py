"""What the store refuses is halved until the one at fault is alone, and then made simpler."""

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.service.dispatch.settling.refused import NOT_KEPT, Part
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.lane import Change, Known
from tarry.testing.samples import (
    NOON,
    a_due,
    a_notice,
    an_attempt,
    an_endpoint,
    delivered,
    failed,
    postponed,
)

if TYPE_CHECKING:
    from tarry.service.dispatch.lane.lane import Lane

LANE = cast("Lane", object())
DUE = a_due(lane=7, seq=3)
CHANGE = Change(lane=7, epoch=1, at=NOON, known=Known(failures=2))


def a_part(settlement: Settlement | Resent) -> Part:
    return Part(((LANE, DUE, settlement),))


@given(settled=st.integers(0, 9), changed=st.integers(0, 9))
def test_halves_have_everything_in_order_and_each_has_something(settled: int, changed: int) -> None:
    finished = tuple(
        (LANE, due, delivered(due)) for due in (a_due(seq=number) for number in range(settled))
    )
    part = Part(finished, tuple(replace(CHANGE, lane=number) for number in range(changed)))
    halves = part.halves()
    assert bool(halves) is (settled + changed > 1)
    assert all(half.finished or half.changes for half in halves)
    if halves:
        assert sum((half.finished for half in halves), ()) == part.finished
        assert sum((half.changes for half in halves), ()) == part.changes


@pytest.mark.parametrize("settlement", [delivered(DUE), failed(DUE), postponed(DUE, NOON + 9)])
def test_a_settlement_loses_its_texts_and_then_its_attempt_but_not_its_outcome(
    settlement: Settlement,
) -> None:
    bare, alone = a_part(settlement).simpler()
    ((lane, due, kept),) = bare.finished
    assert (lane, due) == (LANE, DUE)
    assert settlement.attempt
    attempt = replace(settlement.attempt, detail=NOT_KEPT, body=b"", decision="")
    assert kept == replace(settlement, attempt=attempt)
    assert alone.settlements == [replace(settlement, attempt=None)]


def test_a_resend_keeps_an_attempt() -> None:
    resent = Resent(7, "r1", an_attempt(DUE, detail="odd", body=b"odd"), 1)
    (bare,) = a_part(resent).simpler()
    ((_, _, kept),) = bare.finished
    assert isinstance(kept, Resent)
    assert (kept.resend, kept.attempt.detail, kept.attempt.body) == ("r1", NOT_KEPT, b"")


def test_of_a_settlement_without_an_attempt_there_is_nothing_simpler() -> None:
    assert list(a_part(failed(DUE, attempt=None)).simpler()) == []


def test_a_change_loses_its_notices() -> None:
    assert list(Part((), (CHANGE,)).simpler()) == []
    told = replace(CHANGE, notices=(a_notice(an_endpoint("app_1")),))
    assert list(Part((), (told,)).simpler()) == [Part((), (CHANGE,))]


def test_a_part_says_what_it_is_about() -> None:
    part = Part(((LANE, DUE, delivered(DUE)),), (CHANGE,))
    assert str(part) == "delivery 3 of lane 7 (msg_sample), change of lane 7"

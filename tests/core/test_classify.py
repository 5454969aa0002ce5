import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.classify import (
    IDEMPOTENCY_HEADER,
    IDEMPOTENT_METHODS,
    failure_for_status,
    repeatable,
)
from tarry.core.outcome import FINAL, Failure, Kind
from tarry.core.policy import Statuses


@pytest.mark.parametrize("status", [100, 101, 200, 202, 204, 301, 304, 308, 399])
def test_a_status_below_400_is_no_failure(status: int) -> None:
    assert failure_for_status(status, Statuses()) is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Kind.PERMANENT),
        (401, Kind.PERMANENT),
        (403, Kind.PERMANENT),
        (404, Kind.PERMANENT),
        (408, Kind.TIMEOUT),
        (409, Kind.PERMANENT),
        (410, Kind.PERMANENT),
        (418, Kind.PERMANENT),
        (422, Kind.PERMANENT),
        (425, Kind.TRANSIENT),
        (429, Kind.THROTTLED),
        (451, Kind.PERMANENT),
        (499, Kind.PERMANENT),
        (500, Kind.TRANSIENT),
        (501, Kind.TRANSIENT),
        (502, Kind.TRANSIENT),
        (503, Kind.TRANSIENT),
        (504, Kind.TIMEOUT),
        (505, Kind.TRANSIENT),
        (507, Kind.TRANSIENT),
        (599, Kind.TRANSIENT),
        (600, Kind.TRANSIENT),
        (999, Kind.TRANSIENT),
    ],
)
def test_the_table_of_statuses(status: int, kind: Kind) -> None:
    assert failure_for_status(status, Statuses()) == Failure(kind)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, Kind.PERMANENT),
        (429, Kind.THROTTLED),
        (500, Kind.TRANSIENT),
        (503, Kind.THROTTLED),
        (504, Kind.TIMEOUT),
    ],
)
@pytest.mark.parametrize("asked", [0.0, 30.0])
def test_a_503_that_says_when_to_come_back_is_throttling(
    status: int, kind: Kind, asked: float
) -> None:
    assert failure_for_status(status, Statuses(), retry_after=asked) == Failure(kind, asked)


def test_the_policy_s_lists_come_before_the_rules() -> None:
    statuses = Statuses(retry=[409, 202], never=[500, 429, 307])
    assert failure_for_status(409, statuses) == Failure(Kind.TRANSIENT)
    assert failure_for_status(202, statuses) == Failure(Kind.TRANSIENT)
    assert failure_for_status(500, statuses) == Failure(Kind.PERMANENT)
    assert failure_for_status(429, statuses) == Failure(Kind.PERMANENT)
    assert failure_for_status(307, statuses) == Failure(Kind.PERMANENT)
    assert failure_for_status(502, statuses) == Failure(Kind.TRANSIENT)
    assert failure_for_status(408, statuses) == Failure(Kind.PERMANENT)
    assert failure_for_status(200, statuses) is None


def test_without_lists_the_rules_decide() -> None:
    statuses = Statuses(retry=[], never=[])
    assert failure_for_status(399, statuses) is None
    assert failure_for_status(400, statuses) == Failure(Kind.PERMANENT)
    assert failure_for_status(499, statuses) == Failure(Kind.PERMANENT)
    assert failure_for_status(500, statuses) == Failure(Kind.TRANSIENT)


def test_a_failure_knows_whether_its_request_may_be_repeated() -> None:
    failure = failure_for_status(502, Statuses(), retry_after=2.0, repeatable=False)
    assert failure == Failure(Kind.TRANSIENT, 2.0, repeatable=False)


@given(status=st.integers(100, 599), statuses=st.from_type(Statuses))
def test_what_is_listed_decides(status: int, statuses: Statuses) -> None:
    failure = failure_for_status(status, statuses)
    if status in statuses.retry:
        assert failure is not None
        assert failure.kind not in FINAL
    elif status in statuses.never:
        assert failure == Failure(Kind.PERMANENT)
    else:
        assert (failure is None) == (status < 400)
        assert failure is None or (failure.kind is Kind.PERMANENT) == (status < 500)


@pytest.mark.parametrize(
    ("method", "has_key", "sent", "replayable", "safe"),
    [
        ("GET", False, True, True, True),
        ("get", False, True, True, True),
        ("GET", False, True, False, False),
        ("PUT", False, True, True, True),
        ("PUT", True, True, False, False),
        ("POST", False, True, True, False),
        ("POST", False, False, True, True),
        ("POST", False, False, False, True),
        ("POST", True, True, True, True),
        ("POST", True, True, False, False),
        ("PATCH", False, True, True, False),
        ("PATCH", True, True, True, True),
        ("BREW", False, True, True, False),
        ("BREW", False, False, True, True),
        ("", False, True, True, False),
    ],
)
def test_a_request_is_repeated_only_if_it_cannot_work_twice(
    method: str, *, has_key: bool, sent: bool, replayable: bool, safe: bool
) -> None:
    assert repeatable(method, has_key=has_key, sent=sent, replayable=replayable) is safe


def test_the_idempotent_methods_are_those_of_rfc_9110() -> None:
    methods = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"}
    assert methods == IDEMPOTENT_METHODS
    assert IDEMPOTENCY_HEADER == "idempotency-key"

"""What is refused of what applications and endpoints are told: field, value and what would do."""

import math
from typing import Any

import pytest

from tarry.errors import PolicyError, SettingsError
from tarry.service.fields import check_seconds, checked_application, checked_endpoint
from tarry.service.model.endpoint import Standing


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate", 0),
        ("rate", -1.0),
        ("rate", math.nan),
        ("rate", math.inf),
        ("rate", "5"),
        ("rate", True),
        ("concurrency", 0),
        ("concurrency", -1),
        ("concurrency", 1.5),
        ("concurrency", True),
        ("standing", Standing.PARKED),
        ("standing", Standing.DELETED),
        ("event_types", "order.paid"),
        ("channels", [1]),
        ("uid", ""),
        ("uid", 7),
    ],
)
def test_an_endpoint_refuses_what_cannot_work(field: str, value: Any) -> None:  # noqa: ANN401  wrong ones
    with pytest.raises(SettingsError) as caught:
        checked_endpoint({field: value})  # type: ignore[misc]  # any field
    assert caught.value.field == field
    assert str(value) in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"), [("rate", -1), ("most_waiting", -1), ("most_waiting", math.inf)]
)
def test_an_application_refuses_what_cannot_work(field: str, value: Any) -> None:  # noqa: ANN401  wrong ones
    with pytest.raises(SettingsError) as caught:
        checked_application({field: value})  # type: ignore[misc]  # any field
    assert caught.value.field == field


def test_a_policy_is_read_before_it_is_kept() -> None:
    for checked in (checked_application, checked_endpoint):
        with pytest.raises(PolicyError):
            checked({"policy": "{nonsense"})
        with pytest.raises(PolicyError, match="attempts"):
            checked({"policy": '{"attempts": -1}'})


def test_what_cannot_be_set_is_named_with_what_can() -> None:
    with pytest.raises(TypeError, match=r"'parked'.*rate"):
        checked_endpoint({"parked": ()})  # type: ignore[typeddict-unknown-key]  # that is it
    with pytest.raises(TypeError, match=r"'fifo'.*most_waiting"):
        checked_application({"fifo": True})  # type: ignore[typeddict-unknown-key]  # that is it


def test_no_limit_is_none_and_the_smallest_do() -> None:
    none = {"rate": None, "policy": None}
    assert checked_application({"rate": None, "policy": None}) == none
    assert checked_application({"most_waiting": 0}) == {"most_waiting": 0}
    assert checked_endpoint({"rate": 1e-3, "concurrency": 1}) == {"rate": 1e-3, "concurrency": 1}
    found = checked_endpoint({"event_types": ["a"], "channels": None, "standing": Standing.PAUSED})
    assert found == {"event_types": ("a",), "channels": None, "standing": Standing.PAUSED}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "soon", True])
def test_what_is_no_time_is_refused(value: Any) -> None:  # noqa: ANN401  wrong ones
    with pytest.raises(SettingsError, match="deliver_at"):
        check_seconds("deliver_at", value)


def test_a_time_may_have_a_least() -> None:
    check_seconds("grace", 0, least=0)
    check_seconds("grace", None, least=0)
    with pytest.raises(SettingsError, match="0 seconds or more"):
        check_seconds("grace", -1, least=0)

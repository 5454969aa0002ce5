import copy
import pickle
from datetime import timedelta
from itertools import islice, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Exponential, Fixed
from tarry.core.jitter import Decorrelated, Full, NoJitter, Smooth
from tarry.core.policy import (
    FINAL_STATUSES,
    RETRIED_STATUSES,
    Policy,
    RetryAfter,
    Statuses,
    waits,
)
from tarry.errors import PolicyError

SECONDS = "a number of seconds from 0 to 1,000,000,000"


class OtherPolicy(Policy, init=False):
    """Adds behaviour and no field."""


def test_the_defaults_are_safe() -> None:
    policy = Policy()
    assert policy.backoff == Exponential(base=0.1, factor=2, cap=10)
    assert policy.jitter == Smooth()
    assert policy.attempts == 5
    assert policy.within == 45
    assert policy.attempt_timeout is None
    assert policy.retry_after == RetryAfter(honour=True, at_most=60)
    assert policy.statuses == Statuses(retry=RETRIED_STATUSES, never=FINAL_STATUSES)
    assert policy.nested is False
    assert policy.name == ""


def test_the_default_statuses_are_those_of_the_table() -> None:
    assert frozenset({408, 425, 429, 500, 502, 503, 504}) == RETRIED_STATUSES
    assert frozenset({400, 401, 403, 404, 410, 422}) == FINAL_STATUSES


def test_durations_are_kept_as_seconds() -> None:
    policy = Policy(within=timedelta(minutes=2), attempt_timeout=timedelta(milliseconds=500))
    assert policy.within == 120.0
    assert policy.attempt_timeout == 0.5
    assert RetryAfter(at_most=timedelta(hours=1)).at_most == 3600.0


def test_none_is_no_limit() -> None:
    policy = Policy(attempts=None, within=None, attempt_timeout=None)
    assert (policy.attempts, policy.within, policy.attempt_timeout) == (None, None, None)


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("attempts", 0, "a whole number, 1 or more"),
        ("attempts", True, "a whole number, 1 or more"),
        ("attempts", 2.0, "a whole number, 1 or more"),
        ("within", -1, SECONDS),
        ("within", float("inf"), SECONDS),
        ("within", "45", SECONDS),
        ("attempt_timeout", 0, "a number of seconds above 0, up to 1,000,000,000"),
        ("nested", 1, "true or false"),
        ("name", None, "a string of valid Unicode"),
        ("backoff", 1.0, "one of Fixed, Linear, Exponential, Fibonacci, Schedule"),
        ("backoff", Fixed, "one of Fixed, Linear, Exponential, Fibonacci, Schedule"),
        ("jitter", "full", "one of NoJitter, Full, Equal, Percent, Decorrelated, Smooth"),
        ("retry_after", 60, "RetryAfter"),
        ("statuses", [503], "Statuses"),
    ],
    ids=repr,
)
def test_nonsense_is_refused_at_birth(field: str, value: object, wanted: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy(**{field: value})  # type: ignore[arg-type]
    assert caught.value.args == (field, value, wanted)


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("honour", 1, "true or false"),
        ("at_most", -1, SECONDS),
    ],
)
def test_a_retry_after_rule_is_checked(field: str, value: object, wanted: str) -> None:
    with pytest.raises(PolicyError) as caught:
        RetryAfter(**{field: value})  # type: ignore[arg-type]
    assert caught.value.args == (f"retry_after.{field}", value, wanted)


@pytest.mark.parametrize("field", ["retry", "never"])
def test_statuses_are_checked(field: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Statuses(**{field: [99]})
    assert caught.value.args == (f"statuses.{field}[0]", 99, "HTTP statuses from 100 to 599")


def test_a_status_is_not_both_retried_and_never_retried() -> None:
    with pytest.raises(PolicyError) as caught:
        Statuses(retry=[500, 404, 400], never=[404, 400, 401])
    wanted = "other statuses than those in statuses.retry"
    assert caught.value.args == ("statuses.never", [400, 404], wanted)


def test_a_policy_is_a_value() -> None:
    policy = Policy(attempts=3, name="orders")
    assert policy == Policy(attempts=3, name="orders")
    assert hash(policy) == hash(Policy(attempts=3, name="orders"))
    assert policy != Policy(attempts=4, name="orders")
    assert policy != "orders"
    with pytest.raises(AttributeError):
        policy.attempts = 9  # type: ignore[misc]


def test_a_policy_that_only_behaves_otherwise_is_equal() -> None:
    assert OtherPolicy(attempts=3) == Policy(attempts=3)
    assert Policy(attempts=3) == OtherPolicy(attempts=3)
    assert hash(OtherPolicy(attempts=3)) == hash(Policy(attempts=3))


@given(policy=st.from_type(Policy))
def test_a_policy_survives_pickling_and_copying(policy: Policy) -> None:
    assert pickle.loads(pickle.dumps(policy)) == policy  # noqa: S301  our own bytes
    assert copy.deepcopy(policy) == copy.copy(policy) == policy


def test_a_changed_policy_keeps_the_rest_and_its_class() -> None:
    changed = OtherPolicy(name="orders", within=9).replace(attempts=2, jitter=Full())
    assert type(changed) is OtherPolicy
    assert changed == Policy(name="orders", within=9, attempts=2, jitter=Full())


def test_a_change_of_an_unknown_field_is_refused() -> None:
    with pytest.raises(PolicyError) as caught:
        Policy().replace(tries=3, attempts=2, zeal=1)
    fields = "backoff, jitter, attempts, within, attempt_timeout, retry_after, statuses"
    assert caught.value.args == ("tries", 3, f"one of {fields}, probe, nested, name")


def test_a_change_is_checked_like_a_new_policy() -> None:
    with pytest.raises(PolicyError, match="'attempts' is 0"):
        Policy().replace(attempts=0)


def test_a_wait_is_the_jitter_s_on_the_backoff() -> None:
    policy = Policy(backoff=Exponential(base=1, cap=100), jitter=Full())
    assert policy.wait(3, None, 0.25) == (1.0, None)
    policy = Policy(backoff=Exponential(base=1, cap=100), jitter=Decorrelated())
    assert policy.wait(3, 2.0, 0.5) == (3.5, 3.5)


def test_waits_hand_the_memory_on() -> None:
    policy = Policy(backoff=Exponential(base=1, cap=10), jitter=Decorrelated())
    assert list(waits(policy, [0.5, 0.5, 0.0, 0.5])) == [2.0, 3.5, 1.0, 2.0]


def test_waits_have_no_end_of_their_own() -> None:
    policy = Policy(attempts=2, within=1, backoff=Fixed(1), jitter=NoJitter())
    assert list(islice(waits(policy, repeat(0.5)), 100)) == [1.0] * 100

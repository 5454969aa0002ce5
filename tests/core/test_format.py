from inspect import Parameter, signature
from typing import get_args

import pytest

from tarry.core.backoff import Backoff
from tarry.core.format import BACKOFFS, JITTERS, SETTINGS, TABLES, UNIONS, VERSION, Form
from tarry.core.jitter import Jitter
from tarry.core.policy import Policy

FORMS = {**BACKOFFS, **JITTERS, **TABLES}


def test_every_field_of_a_policy_has_its_place() -> None:
    assert {*SETTINGS, *UNIONS, *TABLES} == set(Policy.__fields__)
    assert VERSION == 1


def test_every_backoff_and_jitter_has_a_kind() -> None:
    assert UNIONS == {"backoff": BACKOFFS, "jitter": JITTERS}
    assert tuple(form.made for form in BACKOFFS.values()) == get_args(Backoff)
    assert tuple(form.made for form in JITTERS.values()) == get_args(Jitter)
    assert list(BACKOFFS) == ["fixed", "linear", "exponential", "fibonacci", "schedule"]
    assert list(JITTERS) == ["none", "full", "equal", "percent", "decorrelated", "smooth"]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_keys_are_named_and_required_as_in_python(form: Form) -> None:
    parameters = signature(form.made).parameters if form.keys else {}
    assert list(form.keys) == list(parameters)
    needed = [name for name, each in parameters.items() if each.default is Parameter.empty]
    assert [name for name, key in form.keys.items() if key.required] == needed


def test_only_the_limits_may_be_unlimited() -> None:
    nullable = [name for name, key in SETTINGS.items() if key.unlimited]
    assert nullable == ["attempts", "within", "attempt_timeout"]
    assert not any(key.unlimited for form in FORMS.values() for key in form.keys.values())

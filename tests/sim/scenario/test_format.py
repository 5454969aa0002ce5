from inspect import signature

import pytest

from tarry.core.format import Form
from tarry.sim.scenario.format import BREAKER, BUDGETS, MODELS

FORMS = {**MODELS, **BUDGETS, "breaker": BREAKER}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@each_form
def test_the_keys_are_the_arguments_of_what_is_made(form: Form) -> None:
    assert list(form.keys) == list(signature(form.made).parameters)


@each_form
def test_a_key_must_be_given_exactly_if_the_argument_has_no_default(form: Form) -> None:
    parameters = signature(form.made).parameters.values()
    wanted = {found.name for found in parameters if found.default is found.empty}
    assert {key for key, rule in form.keys.items() if rule.required} == wanted


@each_form
def test_every_key_says_in_a_sentence_what_it_is_about(form: Form) -> None:
    assert form.about.endswith(".")
    assert [key for key, rule in form.keys.items() if not rule.about.endswith(".")] == []

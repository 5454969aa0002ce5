"""A policy document means the same here as elsewhere, but for an age that it leaves out."""

import pytest

from tarry.core.policy import Policy
from tarry.core.text import from_json, to_json
from tarry.errors import PolicyError
from tarry.service.model.policy import LONGEST_ATTEMPT, check_policy, read_policy
from tarry.service.model.settings import DAY


def test_a_document_that_names_no_age_lets_deliveries_wait_for_days() -> None:
    assert read_policy('{"attempts": 3}') == Policy(attempts=3, within=5 * DAY)


@pytest.mark.parametrize("within", ['"unlimited"', "45", "0.5"])
def test_a_document_that_names_one_is_taken_at_its_word(within: str) -> None:
    document = f'{{"attempts": 3, "within": {within}}}'
    assert read_policy(document) == from_json(document)


def test_a_policy_written_down_whole_stays_as_it_is() -> None:
    assert read_policy(to_json(Policy())) == Policy()


@pytest.mark.parametrize("document", ["{nonsense", "[]", '{"attempts": -1}', '{"with_in": 9}'])
def test_what_cannot_be_read_is_refused(document: str) -> None:
    with pytest.raises(PolicyError):
        read_policy(document)


@pytest.mark.parametrize("seconds", ["0.5", "120", '"unlimited"'])
def test_an_attempt_may_take_two_minutes(seconds: str) -> None:
    document = f'{{"attempt_timeout": {seconds}}}'
    check_policy(document)
    assert read_policy(document).attempt_timeout == from_json(document).attempt_timeout


@pytest.mark.parametrize("seconds", ["120.1", "1e9"])
def test_a_longer_attempt_is_refused_but_one_that_was_stored_is_cut_short(seconds: str) -> None:
    document = f'{{"attempt_timeout": {seconds}}}'
    with pytest.raises(PolicyError, match="up to 120 in the service") as refused:
        check_policy(document)
    assert refused.value.field == "attempt_timeout"
    assert read_policy(document).attempt_timeout == LONGEST_ATTEMPT

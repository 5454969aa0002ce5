"""A policy document means the same here as elsewhere, but for an age that it leaves out."""

import pytest

from tarry.core.policy import Policy
from tarry.core.text import from_json, to_json
from tarry.errors import PolicyError
from tarry.service.model.policy import read_policy
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

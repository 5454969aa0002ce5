"""Data keys are told apart by their ids, which nobody else has."""

from tarry.service.model import ids
from tarry.testing.samples import a_data_key


def test_a_data_key_has_an_id_of_its_own() -> None:
    first, second = a_data_key("app_sample"), a_data_key("app_sample")
    assert first.id != second.id
    assert ids.well_formed(first.id, "dkey_")
    assert first.application == "app_sample"

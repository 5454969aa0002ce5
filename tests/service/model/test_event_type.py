"""An event type, as it begins."""

from tarry.testing.samples import an_event_type


def test_an_event_type_is_listed_and_has_no_schema_unless_told_so() -> None:
    event_type = an_event_type("invoice.paid")
    assert (event_type.archived, event_type.deprecated, event_type.schemas) == (False, False, None)
    assert (event_type.feature_flags, event_type.group) == ((), None)

"""A kind is a value that names its records."""

import inspect

import pytest

from tarry.service.store import kinds

KINDS = [
    kind
    for _, kind in inspect.getmembers(kinds, inspect.isclass)
    if kind.__module__ == kinds.__name__
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_says_what_its_records_are(kind: type) -> None:
    assert kind.__doc__


def test_kinds_are_equal_if_they_name_the_same() -> None:
    assert kinds.Endpoints("app_1") == kinds.Endpoints("app_1")
    assert kinds.Endpoints("app_1") != kinds.Endpoints("app_2")
    assert hash(kinds.Endpoints("app_1")) == hash(kinds.Endpoints("app_1"))


def test_a_kind_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        kinds.Endpoints("app_1").application = "app_2"  # type: ignore[misc]  # on purpose

"""Types of events as programs of the SDK make, list and change them."""

from typing import Any
from uuid import uuid4

import pytest
from svix.api import EventTypeCreateOptions, EventTypeDeleteOptions, EventTypeListOptions
from svix.exceptions import HttpError, HTTPValidationError
from svix.models import (
    EndpointIn,
    EventTypeIn,
    EventTypeOut,
    EventTypePatch,
    EventTypeUpsertIn,
    Ordering,
)

from tests.sdk.conftest import Sdk

SCHEMAS: dict[str, Any] = {
    "1": {"type": "object", "properties": {"seats": {"type": "integer"}}},
}
CHANGING = {"updated_at", "feature_flag"}
"""What changes by itself."""


@pytest.fixture
def name() -> str:
    """A name that nobody else has; it comes before all others."""
    return f"0{uuid4().hex}"


def test_a_type_is_made_with_everything_that_can_be_told(sdk: Sdk, name: str) -> None:
    made = sdk.event_type.create(
        EventTypeIn(
            name=name,
            description="A seat was taken",
            archived=False,
            deprecated=True,
            schemas=SCHEMAS,
            group_name="seats",
            feature_flags=["beta"],
        )
    )
    assert isinstance(made, EventTypeOut)
    assert (made.name, made.description) == (name, "A seat was taken")
    assert (made.archived, made.deprecated) == (False, True)
    assert (made.schemas, made.group_name) == (SCHEMAS, "seats")
    assert made.feature_flags == ["beta"]
    assert sdk.event_type.get(name) == made


def test_a_type_is_made_once(sdk: Sdk, name: str) -> None:
    told = EventTypeIn(name=name, description="")
    options = EventTypeCreateOptions(idempotency_key=name)
    first, second = (sdk.event_type.create(told, options) for _ in range(2))
    assert first == second
    with pytest.raises(HttpError) as error:
        sdk.event_type.create(told)
    assert (error.value.status_code, error.value.code) == (409, "event_type_exists")


def test_a_type_is_put(sdk: Sdk, name: str) -> None:
    made = sdk.event_type.upsert(name, EventTypeUpsertIn(description="New", schemas=SCHEMAS))
    anew = sdk.event_type.upsert(name, EventTypeUpsertIn(description="Anew", deprecated=True))
    assert (anew.description, anew.schemas, anew.deprecated) == ("Anew", None, True)
    assert anew.created_at == made.created_at


def test_patching_changes_a_field_and_no_other(sdk: Sdk, name: str) -> None:
    made = sdk.event_type.create(EventTypeIn(name=name, description="", schemas=SCHEMAS))
    patches: list[dict[str, Any]] = [
        {"description": "Changed"},
        {"schemas": {"1": {}}},
        {"schemas": {}},
        {"schemas": None},
        {"feature_flags": ["beta", "gamma"]},
        {"feature_flags": None},
        {"group_name": "seats"},
        {"group_name": None},
        {"deprecated": True},
        {"archived": True},
    ]
    told = made.model_dump(exclude=CHANGING)
    for patch in patches:
        sdk.event_type.patch(name, EventTypePatch(**patch))
        told |= patch
        assert sdk.event_type.get(name).model_dump(exclude=CHANGING) == told


def test_types_are_listed_by_name(sdk: Sdk, name: str) -> None:
    names = [f"{name}.{n}" for n in range(4)]
    for one in names:
        sdk.event_type.create(EventTypeIn(name=one, description="", schemas=SCHEMAS))
    sdk.event_type.delete(names[3])

    def listed(**options: Any) -> Any:  # noqa: ANN401  the SDK's
        page = sdk.event_type.list(EventTypeListOptions(limit=2, **options))
        return [one.name for one in page.data if one.name in names], page

    shown, first = listed(iterator=name, with_content=True)
    assert (shown, first.data[0].schemas) == (names[:2], SCHEMAS)
    shown, second = listed(iterator=first.iterator)
    assert (shown, second.data[0].schemas) == (names[2:3], None)
    shown, _ = listed(iterator=first.iterator, include_archived=True)
    assert shown == names[2:]
    shown, _ = listed(iterator=second.prev_iterator)
    assert shown == names[:2]
    shown, _ = listed(iterator=names[2], order=Ordering.DESCENDING)
    assert shown == names[1::-1]


def test_a_deleted_type_is_archived_unless_it_is_forgotten(sdk: Sdk, app: str, name: str) -> None:
    sdk.event_type.create(EventTypeIn(name=name, description="One"))
    assert sdk.event_type.delete(name) is None
    assert sdk.event_type.get(name).archived
    with pytest.raises(HTTPValidationError):
        sdk.endpoint.create(app, EndpointIn(url="https://example.org", event_types=[name]))
    again = sdk.event_type.create(EventTypeIn(name=name, description="Two"))
    assert (again.archived, again.description) == (False, "Two")
    assert sdk.event_type.delete(name, EventTypeDeleteOptions(expunge=True)) is None
    with pytest.raises(HttpError) as error:
        sdk.event_type.get(name)
    assert error.value.status_code == 404


@pytest.mark.parametrize(
    ("told", "place"),
    [
        ({"name": "no spaces"}, "name"),
        ({"schemas": {"1": {"readOnly": 15}}}, "schemas"),
        ({"schemas": {"1": {"type": "seat"}}}, "schemas"),
    ],
)
def test_what_is_wrong_with_a_type_is_said(
    sdk: Sdk, name: str, told: dict[str, Any], place: str
) -> None:
    with pytest.raises(HTTPValidationError) as error:
        sdk.event_type.create(EventTypeIn(**{"name": name, "description": "", **told}))
    assert error.value.detail[0].loc[:2] == ["body", place]

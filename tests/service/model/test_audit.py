import pytest
from msgspec import Struct

from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.audit import (
    HARMLESS,
    SHOWN_FIELDS,
    ActorKind,
    AuditFilter,
    FieldChange,
    Target,
    changed,
    target_of,
)
from tarry.service.model.endpoint import Endpoint, Secret, Standing
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key, Scope
from tarry.testing.samples import (
    NOON,
    a_key,
    an_action,
    an_application,
    an_endpoint,
    an_event_type,
)

OWN = {"id", "environment", "application", "created_at", "updated_at"}
"""Fields that say what a record is and when it was changed, which an entry says anyway."""
INTERNAL = {
    Application: OWN,
    Endpoint: OWN | {"lane", "parked", "probed_at"},
    EventType: OWN,
    Key: OWN | {"hash"},
}
"""The fields of records whose changes are not listed."""


@pytest.mark.parametrize("kind", list(INTERNAL))
def test_each_field_that_people_change_is_listed(kind: type[Struct]) -> None:
    assert set(kind.__struct_fields__) - INTERNAL[kind] <= SHOWN_FIELDS.keys()
    assert not INTERNAL[kind] & SHOWN_FIELDS.keys()


def test_no_field_is_listed_that_no_record_has() -> None:
    fields = {field for kind in INTERNAL for field in kind.__struct_fields__}
    assert SHOWN_FIELDS.keys() <= fields
    assert SHOWN_FIELDS.keys() >= HARMLESS


def test_values_that_somebody_typed_or_that_are_secret_are_not_shown() -> None:
    typed = {"uid", "url", "description", "headers", "secrets", "metadata", "policy", "name"}
    assert not HARMLESS & (typed | {"schemas", "session", "feature_flags", "group", "channels"})


def test_a_change_names_its_fields_and_shows_harmless_values() -> None:
    before = an_endpoint("app_1", rate=5.0, headers=b"old", secrets=(Secret(b"old"),))
    after = an_endpoint(
        "app_1", id=before.id, rate=None, headers=b"new", standing=Standing.PAUSED, uid="till"
    )
    assert changed(after, before) == Target(
        "endpoint",
        before.id,
        "app_1",
        (
            FieldChange("headers"),
            FieldChange("throttleRate", before=5.0, after=None),
            FieldChange("secrets"),
            FieldChange("standing", before="enabled", after="paused"),
            FieldChange("uid"),
        ),
    )
    assert changed(before, before).changes == ()


def test_of_something_new_the_fields_are_named_that_were_set() -> None:
    assert changed(a_key(scopes=(Scope.READ, Scope.SEND))).changes == (
        FieldChange("scopes", after="read, send"),
    )
    assert changed(an_event_type("a", description="", validates=True)).changes == (
        FieldChange("name"),
        FieldChange("validatePayload", after=True),
    )


def test_an_entry_is_about_a_record_of_an_application_or_of_the_environment() -> None:
    application = an_application()
    assert target_of(application) == Target("application", application.id, application.id)
    token = a_key(application=application.id)
    assert target_of(token) == Target("key", token.id, application.id)
    assert target_of(an_event_type("a")) == Target("event-type", "a")


def test_the_id_of_an_entry_is_that_of_the_action_and_the_target() -> None:
    by = an_action()
    entry = by.entry(Target("key", "key_1"))
    assert entry == by.entry(Target("key", "key_1"))
    assert ids.well_formed(entry.id, ids.AUDIT)
    assert ids.made_at(entry.id) == pytest.approx(by.at, abs=0.001)
    others = [
        by.entry(Target("key", "key_2")),
        by.entry(Target("message", "key_1")),
        an_action(at=by.at).entry(Target("key", "key_1")),
    ]
    assert len({entry.id, *(other.id for other in others)}) == 4


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (AuditFilter(), True),
        (AuditFilter(application="app_1", target="ep_1"), True),
        (AuditFilter(application="app_2"), False),
        (AuditFilter(actor="key_1"), True),
        (AuditFilter(actor="key"), True),
        (AuditFilter(actor="tenant"), False),
        (AuditFilter(operation="v1.some.operation"), True),
        (AuditFilter(operation="v1.other", target="ep_1"), False),
        (AuditFilter(target="ep_2"), False),
    ],
)
def test_entries_are_filtered(wanted: AuditFilter, *, fits: bool) -> None:
    entry = an_action().entry(Target("endpoint", "ep_1", "app_1"))
    assert wanted.fits(entry) == fits


def test_a_filter_by_an_application_leaves_out_what_belongs_to_none() -> None:
    entry = an_action(actor=ActorKind.TARRY, key=None).entry(Target("event-type", "a"))
    assert not AuditFilter(application="app_1").fits(entry)
    assert not AuditFilter(actor="key_1").fits(entry)


def test_a_time_range_is_one_of_ids() -> None:
    entry = an_action(at=NOON).entry(Target("event-type", "a"))
    low, high = AuditFilter(after=NOON, before=NOON + 0.001).span
    assert low < entry.id < high
    low, high = AuditFilter(before=NOON).span
    assert not low < entry.id < high

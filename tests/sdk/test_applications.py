from typing import Any

import pytest
from svix.api import ApplicationCreateOptions, ApplicationListOptions
from svix.exceptions import HttpError, HTTPValidationError
from svix.models import ApplicationIn, ApplicationPatch, EndpointIn, Ordering

from tests.sdk.conftest import Sdk


def test_an_application_through_its_life(sdk: Sdk, uid: str) -> None:
    made = sdk.application.create(
        ApplicationIn(name="Acme", uid=uid, throttle_rate=7, metadata={"plan": "pro"})
    )
    assert (made.name, made.uid, made.throttle_rate) == ("Acme", uid, 7)
    assert made.metadata == {"plan": "pro"}
    assert sdk.application.get(uid) == made
    assert sdk.application.get(made.id) == made
    assert sdk.application.get_or_create(ApplicationIn(name="Other", uid=uid)) == made
    changed = sdk.application.upsert(uid, ApplicationIn(name="Acme Inc", uid=uid))
    assert (changed.id, changed.name, changed.throttle_rate) == (made.id, "Acme Inc", None)
    assert changed.metadata == {}
    assert changed.updated_at > made.updated_at
    patched = sdk.application.patch(uid, ApplicationPatch(throttle_rate=9))
    assert (patched.name, patched.throttle_rate, patched.uid) == ("Acme Inc", 9, uid)
    patched = sdk.application.patch(uid, ApplicationPatch(throttle_rate=None))
    assert patched.throttle_rate is None
    assert sdk.application.delete(uid) is None
    with pytest.raises(HttpError) as error:
        sdk.application.get(made.id)
    assert (error.value.status_code, error.value.code) == (404, "not_found")


def test_putting_makes_an_application_that_is_not_there(sdk: Sdk, uid: str) -> None:
    assert sdk.application.upsert(uid, ApplicationIn(name="New", uid=uid)).uid == uid


def test_a_uid_is_given_once(sdk: Sdk, uid: str) -> None:
    sdk.application.create(ApplicationIn(name="One", uid=uid))
    with pytest.raises(HttpError) as error:
        sdk.application.create(ApplicationIn(name="Two", uid=uid))
    assert (error.value.status_code, error.value.code) == (409, "conflict")


def test_applications_are_walked_both_ways(sdk: Sdk) -> None:
    made = [sdk.application.create(ApplicationIn(name=f"n{n}")).id for n in range(5)]
    newest = Ordering.DESCENDING
    first = sdk.application.list(ApplicationListOptions(limit=2, order=newest))
    assert [one.id for one in first.data] == made[:-3:-1]
    assert not first.done
    second = sdk.application.list(
        ApplicationListOptions(limit=2, order=newest, iterator=first.iterator)
    )
    assert [one.id for one in second.data] == [made[2], made[1]]
    back = sdk.application.list(
        ApplicationListOptions(limit=2, order=newest, iterator=second.prev_iterator)
    )
    assert [one.id for one in back.data] == [one.id for one in first.data]


@pytest.mark.parametrize(
    ("kind", "left_out"),
    [
        ("no", None),
        ("disabled", {"disabled": True}),
        ("svix_play", {"url": "https://play.svix.com/"}),
    ],
)
def test_applications_are_left_out_that_have_only_such_endpoints(
    sdk: Sdk, kind: str, left_out: dict[str, Any] | None
) -> None:
    usual, other = (sdk.application.create(ApplicationIn(name=name)).id for name in "ab")
    sdk.endpoint.create(usual, EndpointIn(url="https://example.com/"))
    if left_out is not None:
        sdk.endpoint.create(other, EndpointIn(**{"url": "https://example.com/", **left_out}))

    def newest(*, told: bool) -> list[str]:
        options: dict[str, Any] = {f"exclude_apps_with_{kind}_endpoints": told}
        asked = ApplicationListOptions(limit=2, order=Ordering.DESCENDING, **options)
        return [one.id for one in sdk.application.list(asked).data]

    assert newest(told=False) == [other, usual]
    assert newest(told=True)[0] == usual


def test_a_uid_moves_on_once_it_is_free(sdk: Sdk, uid: str) -> None:
    first = sdk.application.create(ApplicationIn(name="One", uid=uid))
    second = sdk.application.create(ApplicationIn(name="Two", uid=f"{uid}-2"))
    for attempt, told in (
        (sdk.application.upsert, ApplicationIn(name="Two", uid=uid)),
        (sdk.application.patch, ApplicationPatch(uid=uid)),
    ):
        with pytest.raises(HttpError) as error:
            attempt(second.id, told)
        assert (error.value.status_code, error.value.code) == (409, "conflict")
    sdk.application.delete(first.id)
    assert sdk.application.patch(second.id, ApplicationPatch(uid=uid)).id == second.id
    assert sdk.application.get(uid).id == second.id
    assert sdk.application.upsert(second.id, ApplicationIn(name="Two")).uid is None
    for gone in (uid, f"{uid}-2", first.id):
        with pytest.raises(HttpError) as error:
            sdk.application.get(gone)
        assert error.value.status_code == 404


def test_an_idempotency_key_makes_one_application(sdk: Sdk, uid: str) -> None:
    options = ApplicationCreateOptions(idempotency_key=uid)
    told = ApplicationIn(name="Some name")
    first, second = (sdk.application.create(told, options) for _ in range(2))
    assert first == second
    with pytest.raises(HttpError) as error:
        sdk.application.create(ApplicationIn(name="Another name"), options)
    assert (error.value.status_code, error.value.code) == (409, "conflict")


@pytest.mark.parametrize(
    ("patch", "place"), [({"name": None}, "name"), ({"name": ""}, "name"), ({"uid": "a b"}, "uid")]
)
def test_what_is_wrong_with_an_application_is_said(
    sdk: Sdk, app: str, patch: dict[str, Any], place: str
) -> None:
    with pytest.raises(HTTPValidationError) as error:
        sdk.application.patch(app, ApplicationPatch(**patch))
    assert error.value.detail[0].loc == ["body", place]


def test_patching_changes_a_field_and_no_other(sdk: Sdk, app: str, uid: str) -> None:
    now = sdk.application.get(app)
    patches: list[dict[str, Any]] = [
        {"name": "Changed"},
        {"uid": uid},
        {"throttle_rate": 5},
        {"metadata": {"plan": "pro"}},
        {"uid": None},
        {"throttle_rate": None},
        {"metadata": {}},
    ]
    for patch in patches:
        patched = sdk.application.patch(app, ApplicationPatch(**patch))
        now = now.model_copy(update={**patch, "updated_at": patched.updated_at})
        assert patched == sdk.application.get(app) == now


def test_metadata_has_many_entries_and_null_empties_it(sdk: Sdk, app: str) -> None:
    many = {f"key{number}": "value" for number in range(200)}
    assert sdk.application.patch(app, ApplicationPatch(metadata=many)).metadata == many
    assert sdk.application.patch(app, ApplicationPatch(metadata=None)).metadata == {}
    assert sdk.application.get(app).metadata == {}

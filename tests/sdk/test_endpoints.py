"""Endpoints as programs of the SDK make, list and change them."""

from typing import Any

import pytest
from svix.api import EndpointCreateOptions, EndpointListOptions
from svix.exceptions import HttpError, HTTPValidationError
from svix.models import (
    ApplicationIn,
    EndpointIn,
    EndpointOut,
    EndpointPatch,
    EndpointUpsertIn,
    MessageIn,
    Ordering,
)

from tarry.testing.receiver import Receiver
from tests.sdk.conftest import Sdk, until, verify

URL = "https://example.org/hook"
SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"  # noqa: S105  of this test only


def test_an_endpoint_is_made_with_everything_that_can_be_told(
    sdk: Sdk, app: str, kind: str, receiver: Receiver
) -> None:
    made = sdk.endpoint.create(
        app,
        EndpointIn(
            url=receiver.url,
            uid="main",
            description="All of it",
            throttle_rate=90,
            disabled=False,
            event_types=[kind],
            channels=["eu"],
            secret=SECRET,
            metadata={"team": "billing"},
            headers={"X-Team": "billing"},
        ),
    )
    assert isinstance(made, EndpointOut)
    assert (made.uid, made.url, made.description) == ("main", receiver.url, "All of it")
    assert (made.throttle_rate, made.disabled) == (90, False)
    assert (made.event_types, made.channels) == ([kind], ["eu"])
    assert made.metadata == {"team": "billing"}
    assert sdk.endpoint.get(app, "main") == sdk.endpoint.get(app, made.id) == made
    assert sdk.endpoint.get_secret(app, "main").key == SECRET
    sdk.message.create(app, MessageIn(event_type=kind, payload={"n": 1}, channels=["eu"]))
    until(lambda: receiver.arrivals)
    (arrival,) = receiver.arrivals
    assert arrival.header("x-team") == "billing"
    verify(arrival, SECRET)


def test_an_endpoint_is_made_with_nothing_but_a_url(sdk: Sdk, app: str) -> None:
    made = sdk.endpoint.create(app, EndpointIn(url=URL))
    assert (made.uid, made.description, made.throttle_rate) == (None, "", None)
    assert (made.event_types, made.channels, made.metadata) == (None, None, {})
    assert not made.disabled
    assert sdk.endpoint.get_secret(app, made.id).key.startswith("whsec_")


def test_an_idempotency_key_makes_one_endpoint(sdk: Sdk, app: str, uid: str) -> None:
    options = EndpointCreateOptions(idempotency_key=uid)
    first, second = (sdk.endpoint.create(app, EndpointIn(url=URL), options) for _ in range(2))
    assert first == second
    assert len(sdk.endpoint.list(app).data) == 1


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"event_types": []}, "eventTypes"),
        ({"event_types": ["never.made"]}, "eventTypes"),
        ({"channels": []}, "channels"),
        ({"uid": "not allowed"}, "uid"),
        ({"throttle_rate": 0}, "throttleRate"),
        ({"url": "ftp://example.org"}, "url"),
        ({"url": "no url"}, "url"),
        ({"secret": "whsec_C2FVsBQIhrscChlQIM+b5sSYspob"}, "secret"),
        ({"secret": "hwsec_C2FVsBQIhrscChlQIM+b5sSYspob7oDazfgh"}, "secret"),
        ({"secret": "whsec_" + "QUJD" * 34}, "secret"),
        ({"headers": {"content-length": "1"}}, "headers"),
    ],
)
def test_what_is_wrong_with_an_endpoint_is_said(
    sdk: Sdk, app: str, body: dict[str, Any], place: str
) -> None:
    with pytest.raises(HTTPValidationError) as error:
        sdk.endpoint.create(app, EndpointIn(**{"url": URL, **body}))
    assert error.value.detail[0].loc[:2] == ["body", place]
    assert error.value.detail[0].msg


def test_putting_makes_an_endpoint_anew_or_makes_it(sdk: Sdk, app: str, kind: str) -> None:
    made = sdk.endpoint.upsert(app, "mine", EndpointUpsertIn(url=URL, uid="mine"))
    secret = sdk.endpoint.get_secret(app, "mine").key
    sdk.endpoint.patch(app, "mine", EndpointPatch(channels=["eu"], metadata={"a": "b"}))
    changed = sdk.endpoint.upsert(
        app,
        "mine",
        EndpointUpsertIn(
            url=URL + "/2",
            uid="ours",
            description="Anew",
            throttle_rate=3,
            disabled=True,
            event_types=[kind],
            metadata={"c": "d"},
        ),
    )
    assert (changed.id, changed.url, changed.uid) == (made.id, URL + "/2", "ours")
    assert (changed.throttle_rate, changed.disabled, changed.event_types) == (3, True, [kind])
    assert (changed.channels, changed.metadata) == (None, {"c": "d"})
    assert sdk.endpoint.get_secret(app, "ours").key == secret
    assert len(sdk.endpoint.list(app).data) == 1


NULLABLE: dict[str, Any] = {
    "throttle_rate": 7,
    "uid": "other",
    "channels": ["us", "eu"],
}
VALUES: dict[str, Any] = {
    **NULLABLE,
    "description": "Changed",
    "url": URL + "/changed",
    "disabled": True,
    "metadata": {"k": "v"},
}


def test_patching_changes_a_field_and_no_other(sdk: Sdk, app: str, kind: str) -> None:
    endpoint = sdk.endpoint.create(app, EndpointIn(url=URL)).id
    now = sdk.endpoint.get(app, endpoint)
    for name, value in {**VALUES, "event_types": [kind]}.items():
        patched = sdk.endpoint.patch(app, endpoint, EndpointPatch(**{name: value}))
        assert patched.updated_at >= now.updated_at
        now = now.model_copy(update={name: value, "updated_at": patched.updated_at})
        assert patched == now
        assert sdk.endpoint.get(app, endpoint) == now


def test_patching_with_null_takes_a_field_away_and_no_other(sdk: Sdk, app: str, kind: str) -> None:
    told = {**NULLABLE, "event_types": [kind]}
    endpoint = sdk.endpoint.create(app, EndpointIn(url=URL, **told)).id
    now = sdk.endpoint.get(app, endpoint)
    for name in told:
        patched = sdk.endpoint.patch(app, endpoint, EndpointPatch(**{name: None}))
        now = now.model_copy(update={name: None, "updated_at": patched.updated_at})
        assert patched == now
    assert sdk.endpoint.get(app, endpoint) == now


def test_an_empty_patch_changes_nothing(sdk: Sdk, app: str) -> None:
    made = sdk.endpoint.create(app, EndpointIn(url=URL, uid="main", throttle_rate=3))
    patched = sdk.endpoint.patch(app, "main", EndpointPatch())
    assert patched == made.model_copy(update={"updated_at": patched.updated_at})


def test_patching_with_null_empties_the_metadata(sdk: Sdk, app: str) -> None:
    sdk.endpoint.create(app, EndpointIn(url=URL, uid="main", metadata={"k": "v"}))
    assert sdk.endpoint.patch(app, "main", EndpointPatch(metadata=None)).metadata == {}
    assert sdk.endpoint.get(app, "main").metadata == {}


@pytest.mark.parametrize("name", ["url", "disabled", "description"])
def test_what_is_always_there_cannot_be_taken_away(sdk: Sdk, app: str, name: str) -> None:
    endpoint = sdk.endpoint.create(app, EndpointIn(url=URL)).id
    with pytest.raises(HTTPValidationError) as error:
        sdk.endpoint.patch(app, endpoint, EndpointPatch(**{name: None}))
    assert error.value.detail[0].loc == ["body", name]


def test_a_uid_is_one_endpoints_of_an_application_as_long_as_it_is_there(
    sdk: Sdk, app: str
) -> None:
    first = sdk.endpoint.create(app, EndpointIn(url=URL, uid="main"))
    other = sdk.endpoint.create(app, EndpointIn(url=URL))
    for attempt, *told in (
        (sdk.endpoint.create, EndpointIn(url=URL, uid="main")),
        (sdk.endpoint.upsert, other.id, EndpointUpsertIn(url=URL, uid="main")),
        (sdk.endpoint.patch, other.id, EndpointPatch(uid="main")),
    ):
        with pytest.raises(HttpError) as error:
            attempt(app, *told)
        assert (error.value.status_code, error.value.code) == (409, "conflict")
    again = sdk.endpoint.upsert(app, first.id, EndpointUpsertIn(url=URL, uid="main"))
    assert again.id == first.id
    elsewhere = sdk.application.create(ApplicationIn(name="Elsewhere")).id
    sdk.endpoint.create(elsewhere, EndpointIn(url=URL, uid="main"))
    sdk.endpoint.delete(app, "main")
    assert sdk.endpoint.create(app, EndpointIn(url=URL, uid="main")).id != first.id


def test_an_endpoint_is_found_in_its_own_application_only(sdk: Sdk, app: str) -> None:
    made = sdk.endpoint.create(app, EndpointIn(url=URL, uid="main"))
    elsewhere = sdk.application.create(ApplicationIn(name="Elsewhere")).id
    for known_as in (made.id, "main"):
        with pytest.raises(HttpError) as error:
            sdk.endpoint.get(elsewhere, known_as)
        assert (error.value.status_code, error.value.code) == (404, "not_found")
    assert sdk.endpoint.delete(app, made.id) is None
    for gone in (sdk.endpoint.get, sdk.endpoint.delete, sdk.endpoint.get_secret):
        with pytest.raises(HttpError) as error:
            gone(app, made.id)
        assert error.value.status_code == 404


def test_endpoints_are_walked_both_ways_and_in_both_orders(sdk: Sdk, app: str) -> None:
    urls = [f"{URL}/{n}" for n in range(5)]
    for url in urls:
        sdk.endpoint.create(app, EndpointIn(url=url))

    def listed(**options: Any) -> Any:  # noqa: ANN401  the SDK's
        page = sdk.endpoint.list(app, EndpointListOptions(**options))
        return [one.url for one in page.data], page

    shown, first = listed(limit=2)
    assert (shown, first.done) == ([urls[4], urls[3]], False)
    shown, second = listed(limit=2, iterator=first.iterator)
    assert (shown, second.done) == ([urls[2], urls[1]], False)
    shown, third = listed(limit=2, iterator=second.iterator)
    assert (shown, third.done) == ([urls[0]], True)
    shown, back = listed(iterator=second.prev_iterator)
    assert (shown, back.done) == ([urls[4], urls[3]], True)
    upwards = Ordering.ASCENDING
    shown, first = listed(limit=3, order=upwards)
    assert (shown, first.done) == (urls[:3], False)
    shown, second = listed(limit=3, order=upwards, iterator=first.iterator)
    assert (shown, second.done) == (urls[3:], True)
    shown, back = listed(limit=2, order=upwards, iterator=second.prev_iterator)
    assert (shown, back.done) == (urls[1:3], False)
    assert listed(order=Ordering.DESCENDING, limit=250)[0] == urls[::-1]


@pytest.mark.parametrize("options", [{"limit": 251}, {"limit": 0}, {"iterator": "BAD-$$$ONE"}])
def test_a_list_that_cannot_be_is_refused(sdk: Sdk, app: str, options: dict[str, Any]) -> None:
    with pytest.raises(HTTPValidationError) as error:
        sdk.endpoint.list(app, EndpointListOptions(**options))
    assert error.value.detail[0].loc == ["query", *options]


def test_a_disabled_endpoint_gets_nothing_until_it_is_enabled(
    sdk: Sdk, app: str, receiver: Receiver
) -> None:
    sdk.endpoint.create(app, EndpointIn(url=receiver.url, uid="main", disabled=True))
    sdk.message.create(app, MessageIn(event_type="a.b", payload={"n": 1}))
    sdk.endpoint.patch(app, "main", EndpointPatch(disabled=False))
    second = sdk.message.create(app, MessageIn(event_type="a.b", payload={"n": 2}))
    until(lambda: receiver.arrivals)
    assert [arrival.id for arrival in receiver.arrivals] == [second.id]

"""Headers that an endpoint's owner adds: set, patched, taken away, hidden, and sent."""

import httpx
import pytest
from svix.exceptions import HTTPValidationError
from svix.models import (
    EndpointHeadersIn,
    EndpointHeadersOut,
    EndpointHeadersPatchIn,
    EndpointIn,
    MessageIn,
)

from tarry.testing.receiver import Receiver
from tests.sdk.conftest import KEY, Sdk, until


@pytest.fixture
def endpoint(sdk: Sdk, app: str, receiver: Receiver) -> str:
    return str(sdk.endpoint.create(app, EndpointIn(url=receiver.url)).id)


def test_headers_are_set_patched_and_taken_away(sdk: Sdk, app: str, endpoint: str) -> None:
    found = sdk.endpoint.get_headers(app, endpoint)
    assert isinstance(found, EndpointHeadersOut)
    assert (found.headers, list(found.sensitive)) == ({}, [])
    for told in ({"X-One": "1", "x-two": "2"}, {"X-One": "3", "x-two": "2"}):
        assert sdk.endpoint.set_headers(app, endpoint, EndpointHeadersIn(headers=told)) is None
        assert sdk.endpoint.get_headers(app, endpoint).headers == told
    patch = EndpointHeadersPatchIn(headers={"x-three": "4"}, delete_headers=["x-two"])
    assert sdk.endpoint.patch_headers(app, endpoint, patch) is None
    assert sdk.endpoint.get_headers(app, endpoint).headers == {"X-One": "3", "x-three": "4"}
    sdk.endpoint.patch_headers(app, endpoint, EndpointHeadersPatchIn(headers={"x-one": "5"}))
    found = sdk.endpoint.get_headers(app, endpoint).headers
    assert {name.lower(): value for name, value in found.items()} == {"x-one": "5", "x-three": "4"}
    sdk.endpoint.set_headers(app, endpoint, EndpointHeadersIn(headers={}))
    assert sdk.endpoint.get_headers(app, endpoint).headers == {}


def test_older_programs_take_a_header_away_with_null(
    sdk: Sdk, app: str, endpoint: str, server: str
) -> None:
    told = EndpointHeadersIn(headers={"x-one": "1", "x-two": "2"})
    sdk.endpoint.set_headers(app, endpoint, told)
    answer = httpx.patch(
        f"{server}/api/v1/app/{app}/endpoint/{endpoint}/headers/",
        json={"headers": {"x-two": None, "x-three": "3"}},
        headers={"authorization": f"Bearer {KEY}"},
    )
    assert (answer.status_code, answer.content) == (204, b"")
    found = sdk.endpoint.get_headers(app, endpoint).headers
    assert found == {"x-one": "1", "x-three": "3"}


def test_what_lets_somebody_in_is_sent_but_not_shown(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver
) -> None:
    told = {"Authorization": "Basic c2VjcmV0", "x-one": "1"}
    sdk.endpoint.set_headers(app, endpoint, EndpointHeadersIn(headers=told))
    found = sdk.endpoint.get_headers(app, endpoint)
    assert found.headers == {"x-one": "1"}
    assert [name.lower() for name in found.sensitive] == ["authorization"]
    sdk.message.create(app, MessageIn(event_type="a.b", payload={}))
    until(lambda: receiver.arrivals)
    arrival = receiver.arrivals[0]
    assert {name: arrival.header(name) for name in told} == told


@pytest.mark.parametrize(
    "name", ["content-length", "some:thing", "some\x00thing", "svix-a", "webhook-id", "host", ""]
)
def test_headers_that_are_not_the_owners_are_refused(
    sdk: Sdk, app: str, endpoint: str, name: str
) -> None:
    with pytest.raises(HTTPValidationError) as error:
        sdk.endpoint.set_headers(app, endpoint, EndpointHeadersIn(headers={name: "1"}))
    assert error.value.detail[0].loc[:2] == ["body", "headers"]
    with pytest.raises(HTTPValidationError):
        sdk.endpoint.patch_headers(app, endpoint, EndpointHeadersPatchIn(headers={name: "1"}))
    assert sdk.endpoint.get_headers(app, endpoint).headers == {}

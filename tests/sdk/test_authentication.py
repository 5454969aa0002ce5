"""Who may do what, as programs of the SDK meet it: portals' tokens and wrong keys."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from svix.api import Svix, SvixOptions
from svix.exceptions import HttpError, HTTPValidationError
from svix.models import (
    ApplicationIn,
    ApplicationTokenExpireIn,
    AppPortalAccessIn,
    AppPortalCapability,
    EndpointIn,
    EndpointPatch,
    EndpointSecretRotateIn,
    EventTypeIn,
    MessageIn,
)

from tests.sdk.conftest import Sdk, until

Opened = Callable[[str], Svix]
URL = "https://example.org"


@pytest.fixture
def opened(server: str) -> Iterator[Opened]:
    """Opens the SDK with other keys."""
    clients: list[Svix] = []

    def opened(token: str) -> Svix:
        clients.append(Svix(token, SvixOptions(server_url=server, retry_schedule=[])))
        return clients[-1]

    yield opened
    for one in clients:
        one._httpx_client.close()  # noqa: SLF001  the SDK itself does not close it


def status(call: Callable[..., object], *arguments: object) -> int:
    """What a call is refused with; 200 if it is not."""
    try:
        call(*arguments)
    except HttpError as error:
        return error.status_code
    return 200


def test_a_wrong_key_opens_nothing(opened: Opened) -> None:
    with pytest.raises(HttpError) as error:
        opened("some-nonsense").application.list()
    assert (error.value.status_code, error.value.code) == (401, "authentication_failed")


def test_a_tenants_token_opens_its_own_application_only(sdk: Sdk, app: str, opened: Opened) -> None:
    other = sdk.application.create(ApplicationIn(name="Other")).id
    access = sdk.authentication.app_portal_access(app, AppPortalAccessIn())
    assert access.token in access.url
    tenant = opened(access.token)
    assert tenant.application.get(app).id == app
    assert status(tenant.application.get, other) == 404
    assert status(tenant.endpoint.list, other) == 404
    told = ApplicationIn(name="Mine")
    assert status(tenant.application.create, told) == 403
    assert status(tenant.application.upsert, app, told) == 403
    assert status(tenant.application.delete, app) == 403
    assert status(tenant.application.list) == 403
    assert status(tenant.message.create, app, MessageIn(event_type="a.b", payload={})) == 403
    endpoint = tenant.endpoint.create(app, EndpointIn(url=URL)).id
    assert tenant.endpoint.patch(app, endpoint, EndpointPatch(channels=["eu"])).channels == ["eu"]
    tenant.endpoint.delete(app, endpoint)


@pytest.mark.parametrize(
    ("told", "statuses"),
    [
        (AppPortalAccessIn(read_only=True), (403, 403, 403)),
        (AppPortalAccessIn(), (200, 200, 200)),
        (AppPortalAccessIn(capabilities=[AppPortalCapability.VIEW_BASE]), (403, 403, 403)),
        (
            AppPortalAccessIn(capabilities=[AppPortalCapability.VIEW_ENDPOINT_SECRET]),
            (403, 200, 403),
        ),
        (
            AppPortalAccessIn(capabilities=[AppPortalCapability.MANAGE_ENDPOINT_SECRET]),
            (403, 200, 200),
        ),
        (AppPortalAccessIn(capabilities=[AppPortalCapability.MANAGE_ENDPOINT]), (200, 200, 200)),
    ],
)
def test_capabilities_say_how_far_a_token_goes(
    sdk: Sdk, app: str, opened: Opened, told: AppPortalAccessIn, statuses: tuple[int, ...]
) -> None:
    endpoint = sdk.endpoint.create(app, EndpointIn(url=URL)).id
    tenant = opened(sdk.authentication.app_portal_access(app, told).token)
    assert tenant.endpoint.get(app, endpoint).id == endpoint
    made = status(tenant.endpoint.create, app, EndpointIn(url=URL))
    seen = status(tenant.endpoint.get_secret, app, endpoint)
    rotated = status(tenant.endpoint.rotate_secret, app, endpoint, EndpointSecretRotateIn())
    assert (made, seen, rotated) == statuses


def test_an_application_is_made_with_its_first_token(sdk: Sdk, uid: str) -> None:
    assert status(sdk.authentication.app_portal_access, uid, AppPortalAccessIn()) == 404
    for name in ("Acme", "Renamed"):
        told = AppPortalAccessIn(application=ApplicationIn(name=name, uid=uid), feature_flags=[])
        sdk.authentication.app_portal_access(uid, told)
        assert sdk.application.get(uid).name == "Acme"
    for wrong in (ApplicationIn(name="Acme", uid=uid), ApplicationIn(name="Acme")):
        with pytest.raises(HTTPValidationError) as error:
            sdk.authentication.app_portal_access(f"{uid}-2", AppPortalAccessIn(application=wrong))
        assert error.value.detail[0].loc == ["body", "application", "uid"]


def test_a_token_that_logged_out_opens_nothing(sdk: Sdk, app: str, opened: Opened) -> None:
    tenant, other = (
        opened(sdk.authentication.app_portal_access(app, AppPortalAccessIn()).token)
        for _ in range(2)
    )
    tenant.authentication.logout()
    until(lambda: status(tenant.application.get, app) == 401)
    assert status(other.application.get, app) == 200


def test_tokens_are_ended_all_or_by_their_sessions(sdk: Sdk, app: str, opened: Opened) -> None:
    first, second, third = (
        opened(
            sdk.authentication.app_portal_access(
                app, AppPortalAccessIn(session_id=session, expiry=3600)
            ).token
        )
        for session in ("one", "two", None)
    )
    told = ApplicationTokenExpireIn(session_ids=["one"])
    assert sdk.authentication.expire_all(app, told) is None
    until(lambda: status(first.application.get, app) == 401)
    assert status(second.application.get, app) == status(third.application.get, app) == 200
    later = ApplicationTokenExpireIn(session_ids=["two"], expiry=1)
    sdk.authentication.expire_all(app, later)
    assert status(second.application.get, app) == 200
    until(lambda: status(second.application.get, app) == 401)
    assert status(third.application.get, app) == 200
    sdk.authentication.expire_all(app, ApplicationTokenExpireIn())
    until(lambda: status(third.application.get, app) == 401)


def test_types_behind_flags_are_shown_to_those_who_have_one(
    sdk: Sdk, app: str, opened: Opened
) -> None:
    name, flag = f"flagged.{uuid4().hex}", f"flag-{uuid4().hex}"
    sdk.event_type.create(EventTypeIn(name=name, description="", feature_flags=[flag]))
    for flags, seen in ((None, 404), (["other"], 404), ([flag], 200), (["other", flag], 200)):
        told = AppPortalAccessIn(feature_flags=flags)
        tenant = opened(sdk.authentication.app_portal_access(app, told).token)
        assert status(tenant.event_type.get, name) == seen

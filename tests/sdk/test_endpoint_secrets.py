"""Secrets of endpoints: shown, chosen, rotated; and what receivers make of the signatures."""

import base64

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from standardwebhooks.webhooks import WebhookVerificationError
from svix.api import EndpointRotateSecretOptions
from svix.exceptions import HttpError, HTTPValidationError
from svix.models import EndpointIn, EndpointSecretOut, EndpointSecretRotateIn, MessageIn

from tarry.testing.receiver import Arrival, Receiver
from tests.sdk.conftest import Sdk, until, verify

OLD = 10
"""How many there may be beside the one in use."""
LONG = "whsec_" + base64.b64encode(bytes(range(64))).decode()


@pytest.fixture
def endpoint(sdk: Sdk, app: str, receiver: Receiver) -> str:
    return str(sdk.endpoint.create(app, EndpointIn(url=receiver.url)).id)


def delivered(sdk: Sdk, app: str, receiver: Receiver) -> Arrival:
    """A new message as it arrived."""
    message = sdk.message.create(app, MessageIn(event_type="a.b", payload={"seats": 3, "é": 1.0}))
    until(lambda: any(one.id == message.id for one in receiver.arrivals))
    return next(arrival for arrival in receiver.arrivals if arrival.id == message.id)


def refused(arrival: Arrival, secret: str) -> bool:
    """Whether the libraries for receivers refuse a delivery."""
    try:
        verify(arrival, secret)
    except WebhookVerificationError:
        return True
    return False


def test_every_secret_is_signed_with_while_its_grace_lasts(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver
) -> None:
    secrets = [sdk.endpoint.get_secret(app, endpoint).key]
    for told in (EndpointSecretRotateIn(), EndpointSecretRotateIn(key=LONG)):
        rotated = sdk.endpoint.rotate_secret(app, endpoint, told)
        assert isinstance(rotated, EndpointSecretOut)
        assert sdk.endpoint.get_secret(app, endpoint) == rotated
        secrets.append(rotated.key)
    assert len(set(secrets)) == 3
    assert secrets[-1] == LONG
    arrival = delivered(sdk, app, receiver)
    for secret in secrets:
        verify(arrival, secret)
    assert len(arrival.header("svix-signature").split()) == 3


def test_without_a_grace_the_old_secret_ends_at_once(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver
) -> None:
    old = sdk.endpoint.get_secret(app, endpoint).key
    told = EndpointSecretRotateIn(grace_period_seconds=0)
    new = sdk.endpoint.rotate_secret(app, endpoint, told).key

    def only_the_new() -> bool:  # a lane at work hears of it a moment later
        return refused(arrival := delivered(sdk, app, receiver), old) and not refused(arrival, new)

    until(only_the_new)


def test_a_pair_of_keys_signs_beside_shared_secrets(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver
) -> None:
    shared = sdk.endpoint.get_secret(app, endpoint).key
    pair = Ed25519PrivateKey.generate()
    private = pair.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    public = pair.public_key().public_bytes_raw()
    told = EndpointSecretRotateIn(key="whsk_" + base64.b64encode(private + public).decode())
    shown = sdk.endpoint.rotate_secret(app, endpoint, told).key
    assert shown == "whpk_" + base64.b64encode(public).decode()
    assert sdk.endpoint.get_secret(app, endpoint).key == shown
    arrival = delivered(sdk, app, receiver)
    verify(arrival, shared)
    kinds = [one.partition(",")[0] for one in arrival.header("webhook-signature").split()]
    assert sorted(kinds) == ["v1", "v1a"]
    assert signed_by(pair.public_key(), arrival)
    assert not signed_by(Ed25519PrivateKey.generate().public_key(), arrival)


def signed_by(key: Ed25519PublicKey, arrival: Arrival) -> bool:
    """Whether one of a delivery's signatures is of a key."""
    told = (arrival.header("svix-id"), arrival.header("svix-timestamp"))
    signed = ".".join(told).encode() + b"." + arrival.body
    for one in arrival.header("svix-signature").split():
        version, _, signature = one.partition(",")
        if version == "v1a":
            try:
                key.verify(base64.b64decode(signature), signed)
            except InvalidSignature:
                continue
            return True
    return False


def test_a_rotation_under_an_idempotency_key_is_one(
    sdk: Sdk, app: str, endpoint: str, uid: str
) -> None:
    options = EndpointRotateSecretOptions(idempotency_key=uid)
    told = EndpointSecretRotateIn()
    first, second = (sdk.endpoint.rotate_secret(app, endpoint, told, options) for _ in range(2))
    assert first == second == sdk.endpoint.get_secret(app, endpoint)


def test_there_are_only_so_many_old_secrets(sdk: Sdk, app: str, endpoint: str) -> None:
    for _ in range(OLD):
        sdk.endpoint.rotate_secret(app, endpoint, EndpointSecretRotateIn())
    with pytest.raises(HttpError) as error:
        sdk.endpoint.rotate_secret(app, endpoint, EndpointSecretRotateIn())
    assert (error.value.status_code, error.value.code) == (400, "limit_reached")


@pytest.mark.parametrize("grace", [-1, 7 * 86_400 + 1])
def test_a_grace_that_cannot_be_is_refused(sdk: Sdk, app: str, endpoint: str, grace: int) -> None:
    told = EndpointSecretRotateIn(grace_period_seconds=grace)
    with pytest.raises(HTTPValidationError) as error:
        sdk.endpoint.rotate_secret(app, endpoint, told)
    assert error.value.detail[0].loc == ["body", "gracePeriodSeconds"]


@pytest.mark.parametrize("key", ["whsec_c2hvcnQ=", "hwsec_" + "QUJD" * 8, "whpk_" + "QUJD" * 8])
def test_a_secret_that_cannot_be_is_refused(sdk: Sdk, app: str, endpoint: str, key: str) -> None:
    before = sdk.endpoint.get_secret(app, endpoint)
    with pytest.raises(HTTPValidationError) as error:
        sdk.endpoint.rotate_secret(app, endpoint, EndpointSecretRotateIn(key=key))
    assert error.value.detail[0].loc == ["body", "key"]
    assert sdk.endpoint.get_secret(app, endpoint) == before

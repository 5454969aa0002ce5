import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from tarry.errors import SettingsError
from tarry.receive.keys import PRIVATE, PUBLIC, SHARED, shared_key
from tarry.service.wire.secret import (
    check_secret,
    generate_private,
    generate_shared,
    jwks,
    public_of,
)

SEED = bytes(range(32))
OTHER_HALF = Ed25519PrivateKey.from_private_bytes(SEED).public_key().public_bytes_raw()


def written(prefix: str, raw: bytes) -> str:
    return prefix + base64.b64encode(raw).decode()


def refusal(text: str) -> str:
    with pytest.raises(SettingsError) as refused:
        check_secret(text)
    return str(refused.value)


def test_a_generated_shared_secret_has_32_bytes_and_is_another_each_time() -> None:
    generated = {generate_shared() for _ in range(50)}
    assert len(generated) == 50
    assert all(secret.startswith("whsec_") for secret in generated)
    assert {len(shared_key(secret)) for secret in generated} == {32}


def test_a_generated_private_key_is_a_seed_with_its_public_key_and_another_each_time() -> None:
    generated = {generate_private() for _ in range(20)}
    assert len(generated) == 20
    for secret in generated:
        assert secret.startswith("whsk_")
        raw = base64.b64decode(secret.removeprefix("whsk_"), validate=True)
        pair = Ed25519PrivateKey.from_private_bytes(raw[:32])
        assert raw[32:] == pair.public_key().public_bytes_raw()


@pytest.mark.parametrize("raw", [SEED, SEED + OTHER_HALF], ids=["seed", "both"])
def test_a_private_key_can_sign_and_has_a_public_half(raw: bytes) -> None:
    text = written(PRIVATE, raw)
    assert check_secret(text) == text
    assert public_of(text) == written(PUBLIC, OTHER_HALF)


def test_a_shared_secret_can_sign() -> None:
    text = written(SHARED, bytes(24))
    assert check_secret(text) == text
    assert refusal("whsec_AAAA").endswith("it must be 'whsec_' and base64 of 24 to 75 bytes")


def test_no_error_shows_the_secret() -> None:
    for prefix in (SHARED, PRIVATE, PUBLIC, ""):
        for read in (check_secret, public_of):
            with pytest.raises(SettingsError) as refused:
                read(prefix + "hunter2hunter2")
            assert "hunter2" not in repr(refused.value)


def test_a_public_key_signs_nothing() -> None:
    text = written(PUBLIC, OTHER_HALF)
    assert refusal(text) == (
        f"'secret' is 'whpk_... ({len(text)} characters)'; it must be 'whsec_' or 'whsk_'"
        " and base64"
    )


def test_a_key_set_names_its_keys_by_thumbprint() -> None:
    # The key and its thumbprint of RFC 8037, appendix A.
    public = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    key = {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
        "alg": "EdDSA",
        "use": "sig",
    }
    assert jwks([public]) == {"keys": [key]}
    assert jwks([]) == {"keys": []}


def test_a_key_set_keeps_the_order_and_has_each_key_once() -> None:
    first, second = (public_of(generate_private()) for _ in range(2))
    both = jwks([first, second, first])["keys"]
    assert both == jwks([first])["keys"] + jwks([second])["keys"]


@given(raw=st.binary(min_size=32, max_size=32))
def test_the_letters_of_a_key_set_are_safe_in_a_url(raw: bytes) -> None:
    (key,) = jwks([written(PUBLIC, raw)])["keys"]
    assert base64.urlsafe_b64decode(key["x"] + "=") == raw
    assert len(base64.urlsafe_b64decode(key["kid"] + "=")) == 32
    assert not set("+/=") & set(key["x"] + key["kid"])

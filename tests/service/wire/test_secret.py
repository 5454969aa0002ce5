import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from tarry.errors import SettingsError
from tarry.service.wire.secret import (
    LONGEST,
    PRIVATE,
    PUBLIC,
    SHARED,
    SHORTEST,
    check_secret,
    generate_private,
    generate_shared,
    jwks,
    private_key,
    public_key,
    public_of,
    shared_key,
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


def test_the_bounds_of_a_shared_secret_are_those_of_the_svix_api() -> None:
    assert (SHORTEST, LONGEST) == (24, 75)


@pytest.mark.parametrize("size", [24, 25, 32, 64, 75])
def test_a_shared_secret_within_the_bounds_is_read(size: int) -> None:
    raw = bytes(range(1, size + 1))
    text = written("whsec_", raw)
    assert shared_key(text) == raw
    assert check_secret(text) == text
    assert shared_key(text.rstrip("=")) == raw, "many write base64 without its padding"


@pytest.mark.parametrize("size", [0, 1, 23, 76, 200])
def test_a_shared_secret_out_of_bounds_is_refused_with_its_size(size: int) -> None:
    text = written("whsec_", b"k" * size)
    assert refusal(text) == (
        f"'secret' is 'whsec_... ({len(text)} characters, {size} bytes)';"
        " it must be 'whsec_' and base64 of 24 to 75 bytes"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        " whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec-MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ],
)
def test_a_secret_without_its_prefix_is_refused(text: str) -> None:
    assert refusal(text) == (
        f"'secret' is '... ({len(text)} characters)'; it must be 'whsec_' or 'whsk_' and base64"
    )


def test_a_public_key_signs_nothing() -> None:
    text = written(PUBLIC, OTHER_HALF)
    assert refusal(text) == (
        f"'secret' is 'whpk_... ({len(text)} characters)'; it must be 'whsec_' or 'whsk_'"
        " and base64"
    )


@pytest.mark.parametrize("prefix", [SHARED, PRIVATE])
@pytest.mark.parametrize(
    "bare",
    [
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa=w",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
        "MfKQ9r8G KYqrTwjUPD8ILPZIo2LaLaSw",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS-",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwA",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS\u00e9",
    ],
)
def test_what_is_not_base64_is_refused(prefix: str, bare: str) -> None:
    text = prefix + bare
    assert refusal(text) == (
        f"'secret' is '{prefix}... ({len(text)} characters)';"
        f" it must be {prefix!r} and base64 (letters, digits, + and /)"
    )


@pytest.mark.parametrize(
    "bare", ["c2VjcmV0LXNlY3JldA==", "hunter2hunter2hunter2hunter2hunter2-", "hunter2"]
)
@pytest.mark.parametrize("prefix", [SHARED, PRIVATE, PUBLIC, ""])
def test_no_error_shows_the_secret(prefix: str, bare: str) -> None:
    for read in (check_secret, shared_key, private_key, public_key, public_of):
        with pytest.raises(SettingsError) as refused:
            read(prefix + bare)
        assert bare not in str(refused.value)
        assert bare not in repr(refused.value)
        assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_a_private_key_is_a_seed_with_or_without_its_public_key() -> None:
    short, long = written(PRIVATE, SEED), written(PRIVATE, SEED + OTHER_HALF)
    for text in (short, long, long.rstrip("=")):
        assert private_key(text).private_bytes_raw() == SEED
        assert check_secret(text) == text
        assert public_of(text) == written(PUBLIC, OTHER_HALF)


@pytest.mark.parametrize("size", [0, 31, 33, 63, 65, 96])
def test_a_private_key_of_another_size_is_refused(size: int) -> None:
    text = written(PRIVATE, b"k" * size)
    assert refusal(text) == (
        f"'secret' is 'whsk_... ({len(text)} characters, {size} bytes)';"
        " it must be 'whsk_' and base64 of 32 bytes (a seed) or 64 (with the public key)"
    )


def test_a_private_key_with_somebody_elses_public_key_is_refused() -> None:
    text = written(PRIVATE, SEED + bytes(32))
    assert refusal(text) == (
        f"'secret' is 'whsk_... ({len(text)} characters, 64 bytes)';"
        " it must be a seed with the public key that belongs to it"
    )


def test_a_public_key_is_read_and_another_size_refused() -> None:
    assert public_key(written(PUBLIC, OTHER_HALF)).public_bytes_raw() == OTHER_HALF
    for size in (31, 33):
        text = written(PUBLIC, b"k" * size)
        with pytest.raises(SettingsError) as refused:
            public_key(text)
        assert str(refused.value) == (
            f"'secret' is 'whpk_... ({len(text)} characters, {size} bytes)';"
            " it must be 'whpk_' and base64 of 32 bytes"
        )


def test_a_shared_secret_is_no_public_key_and_no_private_one() -> None:
    for read, prefix in ((public_key, PUBLIC), (private_key, PRIVATE)):
        with pytest.raises(SettingsError) as refused:
            read(written(SHARED, OTHER_HALF))
        assert refused.value.wanted == f"{prefix!r}..."


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

import base64
import sys
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tarry.errors import SettingsError
from tarry.receive.keys import (
    LONGEST,
    PRIVATE,
    PUBLIC,
    SHARED,
    SHORTEST,
    private_key,
    public_key,
    shared_key,
)

SEED = bytes(range(32))
OTHER_HALF = Ed25519PrivateKey.from_private_bytes(SEED).public_key().public_bytes_raw()


def written(prefix: str, raw: bytes) -> str:
    return prefix + base64.b64encode(raw).decode()


def refusal(text: str) -> str:
    read = private_key if text.startswith(PRIVATE) else shared_key
    with pytest.raises(SettingsError) as refused:
        read(text)
    return str(refused.value)


def test_the_bounds_of_a_shared_secret_are_those_of_the_svix_api() -> None:
    assert (SHORTEST, LONGEST) == (24, 75)


@pytest.mark.parametrize("size", [24, 25, 32, 64, 75])
def test_a_shared_secret_within_the_bounds_is_read(size: int) -> None:
    raw = bytes(range(1, size + 1))
    text = written("whsec_", raw)
    assert shared_key(text) == raw
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


def test_a_private_key_is_a_seed_with_or_without_its_public_key() -> None:
    short, long = written(PRIVATE, SEED), written(PRIVATE, SEED + OTHER_HALF)
    for text in (short, long, long.rstrip("=")):
        assert private_key(text).private_bytes_raw() == SEED


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


@pytest.mark.parametrize(
    "bare", ["c2VjcmV0LXNlY3JldA==", "hunter2hunter2hunter2hunter2hunter2-", "hunter2"]
)
@pytest.mark.parametrize("prefix", [SHARED, PRIVATE, PUBLIC, ""])
def test_no_error_shows_the_secret(prefix: str, bare: str) -> None:
    for read in (shared_key, private_key, public_key):
        with pytest.raises(SettingsError) as refused:
            read(prefix + bare)
        assert bare not in str(refused.value)
        assert bare not in repr(refused.value)
        assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize(("read", "prefix"), [(public_key, PUBLIC), (private_key, PRIVATE)])
def test_without_cryptography_one_is_told_what_to_install(
    read: Callable[[str], object], prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError) as missing:
        read(written(prefix, OTHER_HALF))
    assert str(missing.value) == (
        f"keys that begin with {prefix} need cryptography: pip install 'tarry[service]'"
    )
    assert missing.value.name == "cryptography"
    assert shared_key(written(SHARED, OTHER_HALF)) == OTHER_HALF

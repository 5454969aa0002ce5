"""Signing secrets as people hold them, after Standard Webhooks.

`whsec_` and base64 is a secret both sides share; `whsk_` is the private half of an Ed25519 pair,
which never leaves the sender, and `whpk_` its public half. No error here shows a secret.
"""

import secrets
from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tarry.errors import SettingsError

SHARED, PRIVATE, PUBLIC = "whsec_", "whsk_", "whpk_"

SHORTEST, LONGEST = 24, 75
"""Bytes of a shared secret."""
_GENERATED = 32
_HALF = 32
"""Bytes of a public key, and of the seed it is made from."""


def generate_shared() -> str:
    """A new secret for both sides."""
    return SHARED + _base64(secrets.token_bytes(_GENERATED))


def generate_private() -> str:
    """A new private key, in the form other senders use: the seed with the public key behind it."""
    key = Ed25519PrivateKey.generate()
    return PRIVATE + _base64(key.private_bytes_raw() + key.public_key().public_bytes_raw())


def check_secret(text: str) -> str:
    """Give back a secret that can sign; SettingsError says what is wrong with another."""
    if text.startswith(PRIVATE):
        private_key(text)
    else:
        shared_key(text)
    return text


def shared_key(text: str) -> bytes:
    """The bytes of a `whsec_` secret."""
    key = _decoded(text, SHARED)
    if not SHORTEST <= len(key) <= LONGEST:
        wanted = f"{SHARED!r} and base64 of {SHORTEST} to {LONGEST} bytes"
        raise SettingsError("secret", _veiled(text, len(key)), wanted)
    return key


def private_key(text: str) -> Ed25519PrivateKey:
    """The key of a `whsk_` secret: a seed of 32 bytes, or the seed and the public key in 64."""
    raw = _decoded(text, PRIVATE)
    seed, public = raw[:_HALF], raw[_HALF:]
    if len(raw) not in {_HALF, 2 * _HALF}:
        wanted = f"{PRIVATE!r} and base64 of 32 bytes (a seed) or 64 (with the public key)"
        raise SettingsError("secret", _veiled(text, len(raw)), wanted)
    key = Ed25519PrivateKey.from_private_bytes(seed)
    if public and public != key.public_key().public_bytes_raw():
        wanted = "a seed with the public key that belongs to it"
        raise SettingsError("secret", _veiled(text, len(raw)), wanted)
    return key


def public_key(text: str) -> Ed25519PublicKey:
    """The key of a `whpk_` text."""
    raw = _decoded(text, PUBLIC)
    if len(raw) != _HALF:
        wanted = f"{PUBLIC!r} and base64 of 32 bytes"
        raise SettingsError("secret", _veiled(text, len(raw)), wanted)
    return Ed25519PublicKey.from_public_bytes(raw)


def public_of(private: str) -> str:
    """The public half of a private key, for those who verify."""
    return PUBLIC + _base64(private_key(private).public_key().public_bytes_raw())


def jwks(public_keys: Iterable[str]) -> dict[str, list[dict[str, str]]]:
    """The set of these `whpk_` keys as JSON Web Keys, each named by its thumbprint (RFC 7638)."""
    distinct = dict.fromkeys(public_key(text).public_bytes_raw() for text in public_keys)
    return {"keys": [_jwk(raw) for raw in distinct]}


def _jwk(raw: bytes) -> dict[str, str]:
    x = _base64url(raw)
    thumbprint = sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest()
    kid = _base64url(thumbprint)
    return {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": kid, "alg": "EdDSA", "use": "sig"}


def _decoded(text: str, prefix: str) -> bytes:
    if not text.startswith(prefix):
        wanted = f"{SHARED!r} or {PRIVATE!r} and base64" if prefix == SHARED else f"{prefix!r}..."
        raise SettingsError("secret", _veiled(text), wanted)
    bare = text.removeprefix(prefix).rstrip("=")
    bare += "=" * (-len(bare) % 4)  # many write it without its padding
    try:
        return a2b_base64(bare.encode("ascii"), strict_mode=True)
    except (NotBase64, UnicodeEncodeError):
        wanted = f"{prefix!r} and base64 (letters, digits, + and /)"
        raise SettingsError("secret", _veiled(text), wanted) from None


def _veiled(text: str, size: int | None = None) -> str:
    """What an error may show of a secret: which kind it claims to be, and how long it is."""
    kind = next((known for known in (SHARED, PRIVATE, PUBLIC) if text.startswith(known)), "")
    return f"{kind}... ({len(text)} characters" + (")" if size is None else f", {size} bytes)")


def _base64(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).decode("ascii")


def _base64url(raw: bytes) -> str:
    return _base64(raw).rstrip("=").replace("+", "-").replace("/", "_")

"""Creates signing secrets, and returns their public halves; `tarry.receive.keys` reads them."""

import secrets
from binascii import b2a_base64
from collections.abc import Iterable
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tarry.receive.keys import PRIVATE, PUBLIC, SHARED, private_key, public_key, shared_key

_GENERATED = 32
"""Bytes of a shared secret."""


def generate_shared() -> str:
    """Return a new secret that sender and receiver share."""
    return SHARED + _base64(secrets.token_bytes(_GENERATED))


def generate_private() -> str:
    """Return a new private key, in the form of other senders: the seed, then the public key."""
    key = Ed25519PrivateKey.generate()
    return PRIVATE + _base64(key.private_bytes_raw() + key.public_key().public_bytes_raw())


def check_secret(text: str) -> str:
    """Return the secret if it can sign; otherwise raise SettingsError with the reason."""
    if text.startswith(PRIVATE):
        private_key(text)
    else:
        shared_key(text)
    return text


def public_of(private: str) -> str:
    """Return the public half of a private key, for receivers that verify."""
    return PUBLIC + _base64(private_key(private).public_key().public_bytes_raw())


def jwks(public_keys: Iterable[str]) -> dict[str, list[dict[str, str]]]:
    """Return these `whpk_` keys as a set of JSON Web Keys, named by thumbprint (RFC 7638)."""
    distinct = dict.fromkeys(public_key(text).public_bytes_raw() for text in public_keys)
    return {"keys": [_jwk(raw) for raw in distinct]}


def _jwk(raw: bytes) -> dict[str, str]:
    """Return a public key as a JSON Web Key."""
    x = _base64url(raw)
    thumbprint = sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest()
    kid = _base64url(thumbprint)
    return {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": kid, "alg": "EdDSA", "use": "sig"}


def _base64(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).decode("ascii")


def _base64url(raw: bytes) -> str:
    return _base64(raw).rstrip("=").replace("+", "-").replace("/", "_")

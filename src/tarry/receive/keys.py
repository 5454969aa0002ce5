"""Parse signing keys in the text form of Standard Webhooks. No error here reveals a key.

`whsec_` and base64 is a secret that both sides share. `whsk_` is the private key of an Ed25519
pair, which never leaves the sender, and `whpk_` is its public key. Only these two need
`cryptography`.
"""

from binascii import Error as NotBase64
from binascii import a2b_base64
from typing import TYPE_CHECKING

from tarry.errors import SettingsError

if TYPE_CHECKING:
    from types import ModuleType

    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

SHARED, PRIVATE, PUBLIC = "whsec_", "whsk_", "whpk_"

SHORTEST, LONGEST = 24, 75
"""The least and the most bytes of a shared secret."""
_KEY_BYTES = 32
"""The bytes of a public key, and of the seed that it is derived from."""


def shared_key(text: str) -> bytes:
    """Return the bytes of a `whsec_` secret."""
    key = _decoded(text, SHARED)
    if not SHORTEST <= len(key) <= LONGEST:
        wanted = f"{SHARED!r} and base64 of {SHORTEST} to {LONGEST} bytes"
        raise SettingsError("secret", veiled(text, len(key)), wanted)
    return key


def private_key(text: str) -> "Ed25519PrivateKey":
    """Return the key of a `whsk_` secret: a seed (32 bytes), or seed and public key (64 bytes)."""
    raw = _decoded(text, PRIVATE)
    seed, public = raw[:_KEY_BYTES], raw[_KEY_BYTES:]
    if len(raw) not in {_KEY_BYTES, 2 * _KEY_BYTES}:
        wanted = f"{PRIVATE!r} and base64 of 32 bytes (a seed) or 64 (with the public key)"
        raise SettingsError("secret", veiled(text, len(raw)), wanted)
    key: Ed25519PrivateKey = _ed25519(PRIVATE).Ed25519PrivateKey.from_private_bytes(seed)
    if public and public != key.public_key().public_bytes_raw():
        wanted = "a seed with the public key that belongs to it"
        raise SettingsError("secret", veiled(text, len(raw)), wanted)
    return key


def public_key(text: str) -> "Ed25519PublicKey":
    """Return the key of a `whpk_` text."""
    raw = _decoded(text, PUBLIC)
    if len(raw) != _KEY_BYTES:
        wanted = f"{PUBLIC!r} and base64 of 32 bytes"
        raise SettingsError("secret", veiled(text, len(raw)), wanted)
    key: Ed25519PublicKey = _ed25519(PUBLIC).Ed25519PublicKey.from_public_bytes(raw)
    return key


def _ed25519(kind: str) -> "ModuleType":
    try:
        from cryptography.hazmat.primitives.asymmetric import (  # noqa: PLC0415  most do without
            ed25519,
        )
    except ModuleNotFoundError:
        message = f"keys that begin with {kind} need cryptography: pip install 'tarry[service]'"
        raise ModuleNotFoundError(message, name="cryptography") from None
    return ed25519


def _decoded(text: str, prefix: str) -> bytes:
    if not text.startswith(prefix):
        wanted = f"{SHARED!r} or {PRIVATE!r} and base64" if prefix == SHARED else f"{prefix!r}..."
        raise SettingsError("secret", veiled(text), wanted)
    bare = text.removeprefix(prefix).rstrip("=")
    bare += "=" * (-len(bare) % 4)  # many leave the padding out
    try:
        return a2b_base64(bare.encode("ascii"), strict_mode=True)
    except (NotBase64, UnicodeEncodeError):
        wanted = f"{prefix!r} and base64 (letters, digits, + and /)"
        raise SettingsError("secret", veiled(text), wanted) from None


def veiled(text: str, size: int | None = None) -> str:
    """Return what an error may show of a secret: its prefix and its length."""
    kind = next((prefix for prefix in (SHARED, PRIVATE, PUBLIC) if text.startswith(prefix)), "")
    return f"{kind}... ({len(text)} characters" + (")" if size is None else f", {size} bytes)")

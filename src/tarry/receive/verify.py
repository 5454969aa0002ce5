"""Verify who sent a message: the counterpart of the service's `sign`.

Signatures are compared in constant time, so the time reveals nothing to an attacker. Repeated
messages are not recognized here, but in `webhook`, by their ids.
"""

import hmac
import re
from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tarry.core.value import Value
from tarry.errors import MalformedHeaders, SettingsError, VerificationError
from tarry.receive.keys import PRIVATE, PUBLIC, SHARED, private_key, public_key, shared_key, veiled

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Headers = Mapping[str, str] | Iterable[tuple[str, str]]
"""Headers as a mapping or as pairs, with names in upper or lower case; others are ignored."""

WINDOW = 300.0
"""The most seconds that a message may be old, or ahead of this clock."""
MOST_SIGNATURES = 32
"""The most signatures in one header. Each costs time, and no sender has this many secrets."""

_FAMILIES = ("webhook-", "svix-")
_ID = re.compile(r"[!-\-/-~]+")
"""Visible characters without a full stop; with one, the end of an id could pass for a timestamp."""
_STAMP = re.compile(r"[0-9]{1,15}")

_Signatures = list[tuple[str, bytes]]
"""Signatures, each after the version that it claims."""
_Fits = Callable[[bytes, _Signatures], bool]


class Verified(Value):
    """A verified message: its sender has the secret."""

    id: str
    """The id of the message; it is the same for every attempt."""
    sent_at: float
    """The time of this attempt, in seconds since 1970."""
    body: bytes
    """The body as it was received, byte for byte."""

    def json(self) -> Any:  # noqa: ANN401  any JSON
        """Parse the body as JSON; ValueError if it is not JSON."""
        import json  # noqa: PLC0415  slow to import, and not all bodies are JSON

        return json.loads(self.body)


class Verifier(Value):
    """Verifies messages with any of several keys: `whsec_`, `whpk_`, or the private `whsk_`."""

    fits: tuple[_Fits, ...]
    window: float = WINDOW

    @classmethod
    def of(cls, *secrets: str, window: float = WINDOW) -> "Verifier":
        """Return a verifier for these secrets; SettingsError if one is malformed."""
        if not secrets:
            raise SettingsError("secrets", 0, "at least one")
        return cls(tuple(_fits_with(text) for text in secrets), window)

    def verify(self, body: bytes, headers: Headers, *, now: float) -> Verified:
        """Return the verified message; VerificationError says why it cannot be verified.

        `body` must be the bytes of the request's body, unchanged.
        """
        if not isinstance(body, bytes):
            raise TypeError(f"the body must be the bytes that came, not {type(body).__name__}")
        message, stamp, signatures = _read(headers)
        if not _ID.fullmatch(message):
            raise MalformedHeaders("the message's id has a character that no id has")
        sent_at = self._checked_time(stamp, now)
        content = f"{message}.{stamp}.".encode("ascii") + body
        if not any(fits(content, signatures) for fits in self.fits):
            raise VerificationError("no signature fits the message and the secrets given")
        return Verified(message, sent_at, body)

    def _checked_time(self, stamp: str, now: float) -> float:
        if not _STAMP.fullmatch(stamp):
            raise MalformedHeaders("the message's timestamp is not a whole number of seconds")
        sent_at = float(stamp)
        if sent_at < now - self.window:
            late = f"{now - sent_at:.0f} s old; at most {self.window:.0f} s are accepted"
            raise VerificationError(f"the message is {late}")
        if sent_at > now + self.window:
            early = f"{sent_at - now:.0f} s ahead of this clock; {self.window:.0f} s are accepted"
            raise VerificationError(f"the message is {early}")
        return sent_at


def _read(headers: Headers) -> tuple[str, str, _Signatures]:
    """Return the id, the timestamp and the signatures, all from one family of headers."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    values: dict[str, str] = {}
    for name, value in pairs:
        plain = name.lower()
        if plain in values and plain.startswith(_FAMILIES):
            raise MalformedHeaders(f"the header {plain!r} comes twice")
        values[plain] = value
    family = next(
        (prefix for prefix in _FAMILIES if f"{prefix}signature" in values),
        _FAMILIES[0],
    )
    for field in ("id", "timestamp", "signature"):
        if not values.get(family + field):
            raise MalformedHeaders(f"the header {family + field!r} is missing")
    signatures = values[f"{family}signature"].split(" ")
    if len(signatures) > MOST_SIGNATURES:
        raise MalformedHeaders(f"there are more than {MOST_SIGNATURES} signatures")
    return values[f"{family}id"], values[f"{family}timestamp"], list(map(_versioned, signatures))


def _versioned(signature: str) -> tuple[str, bytes]:
    version, _, given = signature.partition(",")
    return version, given.encode("utf-8", "surrogatepass")


def _fits_with(secret: str) -> _Fits:
    if secret.startswith(PUBLIC):
        return _fits_public(public_key(secret))
    if secret.startswith(PRIVATE):
        return _fits_public(private_key(secret).public_key())
    if not secret.startswith(SHARED):
        raise SettingsError("secret", veiled(secret), f"{SHARED!r} or {PUBLIC!r} and base64")
    key = shared_key(secret)

    def fits(content: bytes, signatures: _Signatures) -> bool:
        expected = b2a_base64(hmac.digest(key, content, sha256), newline=False)
        return any(
            version == "v1" and hmac.compare_digest(expected, given)
            for version, given in signatures
        )

    return fits


def _fits_public(key: "Ed25519PublicKey") -> _Fits:
    def fits(content: bytes, signatures: _Signatures) -> bool:
        return any(
            version == "v1a" and _is_signed(key, content, given) for version, given in signatures
        )

    return fits


def _is_signed(key: "Ed25519PublicKey", content: bytes, given: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  most do without

    try:
        signature = a2b_base64(given)
        key.verify(signature, content)
    except (InvalidSignature, NotBase64):
        return False
    # The decoder is lenient, and base64 has unused bits at its end. Accept only the one exact form.
    return b2a_base64(signature, newline=False) == given

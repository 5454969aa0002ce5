"""The headers of an attempt: those of its signature, and those that an endpoint's owner may set.

Signatures are those of Standard Webhooks, under its names and under Svix's older ones. Signing
happens for every attempt, so as much as possible is prepared when the endpoint is read.
"""

import re
from binascii import b2a_base64
from collections.abc import Callable, Iterable
from math import inf

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from msgspec import Struct

from tarry.errors import SettingsError
from tarry.receive.keys import PRIVATE, private_key, shared_key
from tarry.service.wire.exchange import Headers

MOST_HEADERS = 32
MOST_HEADER_BYTES = 8 * 1024
"""The size of all headers that an owner set together, as they are sent."""

_Sign = Callable[[bytes], str]


class Signer(Struct, frozen=True):
    """Signs an endpoint's messages with all of its valid secrets, the newest first."""

    signs: tuple[tuple[_Sign, float], ...]
    """A signing function for each secret, with the time when the secret expires."""
    changes_at: float
    """When the first secret expires."""

    @classmethod
    def of(cls, secrets: Iterable[tuple[str, float | None]]) -> "Signer":
        """Prepare secrets, given newest first, each with the end of its grace period or None."""
        signs = tuple((_sign_with(text), inf if end is None else end) for text, end in secrets)
        ends = [end for _, end in signs]
        if inf not in ends:
            # Otherwise messages would be sent unsigned one day.
            raise SettingsError("secrets", len(ends), "at least one that does not expire")
        return cls(signs, min(ends))

    def headers(self, message: str, attempt: int, body: bytes, *, now: float) -> Headers:
        """Return the signature headers of one attempt, made at `now` (seconds since 1970).

        `message` is an id of tarry's own: it has no full stop, and is valid in a header.
        """
        stamp = str(int(now))
        content = f"{message}.{stamp}.".encode("ascii") + body
        if now < self.changes_at:
            signature = " ".join([sign(content) for sign, _ in self.signs])
        else:
            signature = " ".join([sign(content) for sign, end in self.signs if now < end])
        return (
            ("webhook-id", message),
            ("webhook-timestamp", stamp),
            ("webhook-signature", signature),
            ("svix-id", message),
            ("svix-timestamp", stamp),
            ("svix-signature", signature),
            ("webhook-attempt", str(attempt)),
        )


def _sign_with(secret: str) -> _Sign:
    """Return the function that signs content with this secret, symmetric or Ed25519."""
    if secret.startswith(PRIVATE):
        ed25519 = private_key(secret).sign
        return lambda content: "v1a," + b2a_base64(ed25519(content), newline=False).decode("ascii")

    keyed_hash = HMAC(shared_key(secret), SHA256())

    def hmac(content: bytes) -> str:
        """Return the version 1 signature of some content."""
        # A copy skips the two blocks of the key: measured faster than hmac.digest and hmac.new.
        content_hash = keyed_hash.copy()
        content_hash.update(content)
        return "v1," + b2a_base64(content_hash.finalize(), newline=False).decode("ascii")

    return hmac


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_OURS = (
    *("webhook-", "svix-", "x-svix-", "proxy-", "x-amzn-"),
    "tarry-",  # tarry-attempt would switch off the retries of a receiver that trusts this service
    *("x-aws-ec2-metadata-", "x-aliyun-ecs-metadata-"),
)
_RESERVED = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "metadata",  # this, the next and some of _OURS give access to clouds' metadata services
        "metadata-flavor",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-google-metadata-request",
    }
)


def check_headers(headers: Iterable[tuple[str, str]]) -> Headers:
    """Return the headers that an owner set for an endpoint; raise SettingsError if one is wrong.

    They can neither add a line to the request, nor change where or how it is sent, nor its
    signature.
    """
    checked = tuple(headers)
    if len(checked) > MOST_HEADERS:
        raise SettingsError("headers", len(checked), f"at most {MOST_HEADERS}")
    names_without_case = set()
    for name, value in checked:
        names_without_case.add(_check_name(name))
        _check_value(name, value)
    if len(names_without_case) < len(checked):
        names = ", ".join(name for name, _ in checked)
        raise SettingsError("headers", names, "names that differ by more than case and _ for -")
    size = sum(len(name) + len(value) + len(": \r\n") for name, value in checked)
    if size > MOST_HEADER_BYTES:
        wanted = f"at most {MOST_HEADER_BYTES} bytes together"
        raise SettingsError("headers", f"{size} bytes", wanted)
    return checked


def _check_name(name: str) -> str:
    """Return a header's name in lower case; refuse a name that may not be set."""
    if not _TOKEN.fullmatch(name):
        wanted = "a header name: letters, digits and !#$%&'*+-.^_`|~"
        raise SettingsError("headers", name, wanted)
    # Many servers read an underscore as a hyphen: Content_Length could set another length there.
    plain = name.lower().replace("_", "-")
    if plain in _RESERVED or plain.startswith(_OURS):
        raise SettingsError("headers", name, "a header that the sender does not set itself")
    return plain


def _check_value(name: str, value: str) -> None:
    """Refuse a header's value that is not one line of plain text."""
    # Errors do not show the value, which is often a password.
    if not _VALUE.fullmatch(value):
        wanted = "one line of Latin-1 text without control characters"
        raise SettingsError(f"headers.{name}", "...", wanted)
    if value != value.strip():
        raise SettingsError(f"headers.{name}", "...", "without space at its beginning or end")

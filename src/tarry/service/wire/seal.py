"""Seals secrets at rest with AES-256-GCM, each for its one place in the database.

A sealed secret that is moved to another tenant, row or column cannot be opened. It names the key it
was sealed with, so that keys can be changed while the service runs.
"""

import os
import re
import secrets
import tempfile
from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Struct

from tarry.errors import SealError, SettingsError
from tarry.service.model.data_key import DataKey
from tarry.service.model.endpoint import Endpoint
from tarry.service.wire.exchange import Headers
from tarry.service.wire.private_file import refuse_exposed

_FORM = 1
"""The first byte of a sealed secret; the second is the length of the key's id."""
_NONCE = 12
_TAG = 16
KEY_BYTES = 32
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_KEYS_FORM = "a list of 'id:base64', the newest first, each key 32 random bytes"


Secrets = tuple[tuple[str, float | None], ...]
"""Secrets, the newest first, each with the end of its grace period."""


class Place(Struct, frozen=True):
    """The place that a secret belongs to: it can be opened only for that place."""

    tenant: str
    row: str
    column: str


class Seals:
    """The sealing keys: the first one seals, and each opens what it has sealed."""

    def __init__(self, keys: Iterable[tuple[str, bytes]]) -> None:
        self._ciphers: dict[str, AESGCM] = {}
        for name, key in keys:
            if not _ID.fullmatch(name):
                wanted = "keys named by 1 to 64 letters, digits, '.', '_' or '-'"
                raise SettingsError("sealing keys", name, wanted)
            if len(key) != KEY_BYTES:
                raise SettingsError("sealing keys", f"{name} ({len(key)} bytes)", _KEYS_FORM)
            if name in self._ciphers:
                raise SettingsError("sealing keys", name, "keys that all have another id")
            self._ciphers[name] = AESGCM(key)
        if not self._ciphers:
            raise SettingsError("sealing keys", "empty", _KEYS_FORM)
        self._newest = next(iter(self._ciphers))

    @classmethod
    def of(cls, text: str) -> "Seals":
        """Read keys: `id:base64`, separated by spaces, commas or lines; `#` starts a comment."""
        bare = " ".join(line.partition("#")[0] for line in text.splitlines())
        return cls(map(_key, bare.replace(",", " ").split()))

    def __repr__(self) -> str:
        return f"Seals({', '.join(self._ciphers)})"

    def seal(self, secret: bytes, place: Place) -> bytes:
        """Seal a secret for its place, with the newest key. No two results are equal."""
        name = self._newest.encode("ascii")
        head = bytes((_FORM, len(name))) + name
        nonce = secrets.token_bytes(_NONCE)
        cipher = self._ciphers[self._newest]
        return head + nonce + cipher.encrypt(nonce, secret, _authenticated_data(head, place))

    def open(self, sealed: bytes, place: Place) -> bytes:
        """Return a secret that was sealed for this place; otherwise raise SealError."""
        name, head = _opened_by(sealed)
        cipher = self._ciphers.get(name)
        if cipher is None:
            ids = ", ".join(self._ciphers)
            raise SealError(f"a secret is sealed with the key {name!r}; the keys given are {ids}")
        rest = sealed[len(head) :]
        try:
            return cipher.decrypt(rest[:_NONCE], rest[_NONCE:], _authenticated_data(head, place))
        except InvalidTag:
            place_of_secret = f"{place.column!r} of {place.row!r} ({place.tenant!r})"
            why = f"it was changed, sealed for another place, or with another key named {name!r}"
            raise SealError(f"the secret {place_of_secret} cannot be opened: {why}") from None

    def needs_resealing(self, sealed: bytes) -> bool:
        """Return whether a secret was sealed with another key than the newest."""
        return _opened_by(sealed)[0] != self._newest


# --- The sealed fields of an endpoint -----------------------------------------------------------


def opened_headers(endpoint: Endpoint, seals: Seals) -> Headers:
    """Return the headers that an endpoint's owner set, unsealed."""
    if endpoint.headers is None:
        return ()
    opened = seals.open(endpoint.headers, place(endpoint, "headers"))
    return msgspec.json.decode(opened, type=Headers)


def opened_secrets(endpoint: Endpoint, seals: Seals) -> Secrets:
    """Return an endpoint's signing secrets, unsealed."""
    place_of_secret = place(endpoint, "secret")
    return tuple(
        (seals.open(secret.sealed, place_of_secret).decode("ascii"), secret.expires_at)
        for secret in endpoint.secrets
    )


def place(endpoint: Endpoint, column: str) -> Place:
    """Return the place of a sealed value: it can be opened only for that place."""
    return Place(endpoint.application, endpoint.id, column)


def place_of_data_key(data_key: DataKey) -> Place:
    """Return the place of a sealed data key."""
    return Place(data_key.application, data_key.id, "data key")


# --- Keys ---------------------------------------------------------------------------------------


def generate_key(name: str) -> str:
    """Return a new key of this name, as `Seals.of` reads it."""
    return f"{name}:{b2a_base64(secrets.token_bytes(KEY_BYTES), newline=False).decode('ascii')}"


def key_file(path: Path) -> str:
    """Return the text of a key file. If there is none, create it with one key, for its owner only.

    Without this file no secret in the database can be opened again: back it up, apart from the
    database.
    """
    try:
        if not path.exists():
            _make_key_file(path)
        with path.open(encoding="ascii") as file:
            refuse_exposed("key file", path, os.fstat(file.fileno()).st_mode)
            return file.read()
    except OSError as error:
        wanted = f"a file that can be read and written ({error.strerror})"
        raise SettingsError("key file", str(path), wanted) from error
    except UnicodeDecodeError:
        raise SettingsError("key file", str(path), _KEYS_FORM) from None


def _make_key_file(path: Path) -> None:
    """Create the file completely or not at all; if several processes try, one succeeds."""
    name = f"key-{secrets.token_hex(4)}"
    # mkstemp creates it for its owner only. It is on disk before it gets its name.
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"# tarry's sealing keys, the newest first\n{generate_key(name)}\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        return  # another process was faster: its file is used
    finally:
        Path(draft).unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _key(entry: str) -> tuple[str, bytes]:
    """Read `name:key in base64`."""
    name, colon, encoded = entry.partition(":")
    try:
        if colon:
            return name, a2b_base64(encoded.encode("ascii"), strict_mode=True)
    except (NotBase64, UnicodeEncodeError):
        pass
    # The error does not even show the name: without a colon it is the key.
    raise SettingsError("sealing keys", "...", _KEYS_FORM)


def _opened_by(sealed: bytes) -> tuple[str, bytes]:
    """Return the id of the key that a secret is sealed with, and the head that holds it."""
    head = sealed[: 2 + sealed[1]] if len(sealed) > 1 else b""
    if not head or sealed[0] != _FORM or len(sealed) < len(head) + _NONCE + _TAG:
        raise SealError(f"these {len(sealed)} bytes are not a secret that tarry sealed")
    return head[2:].decode("ascii", "replace"), head


def _authenticated_data(head: bytes, place: Place) -> bytes:
    """Return the data authenticated with a secret: each part with its length, so it is unique."""
    parts = [head, *(part.encode() for part in (place.tenant, place.row, place.column))]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

"""Identify the caller by its API key, and decide what each scope of a key allows."""

import hmac
import logging
import time
from collections.abc import Callable
from enum import Enum, auto

import msgspec
from msgspec import Struct

from tarry.errors import NotFound
from tarry.service.api.http.cache import Cache
from tarry.service.keys import hash_key
from tarry.service.model.key import Scope
from tarry.service.store.contract import Admission

log = logging.getLogger("tarry.service")

CACHED_FOR = 0.5
"""Seconds that a key is cached. A revoked key stops working after at most this time."""
MOST_CACHED_KEYS = 10_000


class Need(Enum):
    """The permission that an operation needs; the scopes of a key grant some of these."""

    NOTHING = auto()  # no key at all
    SEND = auto()
    LOOK = auto()
    SECRETS = auto()  # read endpoints' signing secrets and the values of their headers
    ROTATE = auto()
    ATTEMPTS = auto()  # send messages again: resend, recover, replay, probe
    ENDPOINTS = auto()  # create, change and delete endpoints
    CHANGE = auto()  # create, change and delete everything else
    KEYS = auto()


_TENANTS = frozenset({Need.LOOK})
ALLOWS: dict[Scope, frozenset[Need]] = {
    Scope.ADMIN: frozenset(Need),
    Scope.WRITE: frozenset(Need) - {Need.KEYS},
    Scope.READ: frozenset({Need.LOOK}),
    Scope.SEND: frozenset({Need.SEND}),
    Scope.VIEW_BASE: _TENANTS,
    Scope.VIEW_ENDPOINT_SECRET: _TENANTS | {Need.SECRETS},
    Scope.MANAGE_ENDPOINT_SECRET: _TENANTS | {Need.SECRETS, Need.ROTATE},
    Scope.MANAGE_TRANSFORMATIONS: _TENANTS,
    Scope.CREATE_ATTEMPTS: _TENANTS | {Need.ATTEMPTS},
    Scope.MANAGE_ENDPOINT: _TENANTS | {Need.ENDPOINTS, Need.SECRETS, Need.ROTATE},
}


def least_scope(need: Need) -> Scope:
    """Return the scope for programs that allows `need` and as little else as possible."""
    scopes = (Scope.SEND, Scope.READ, Scope.WRITE, Scope.ADMIN)
    return next(scope for scope in scopes if need in ALLOWS[scope])


class Caller(Struct, frozen=True, kw_only=True):
    """The caller: a key to an environment, or to only one `application` in it."""

    key: str
    environment: str
    application: str | None = None
    needs: frozenset[Need] = frozenset(Need)
    flags: frozenset[str] = frozenset()
    """A tenant's feature flags: they make the event types behind these flags visible."""


class Access:
    """Looks up API keys, and caches them for a moment."""

    def __init__(
        self,
        admission: Admission,
        pepper: bytes,
        *,
        first: tuple[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Hash keys with `pepper`; `first` is a key without a row, and its environment.

        The first key may do everything. If the same key also has a row, the row decides what it
        may do and whether it has expired: a server reads its first key from the variable that
        also holds a client's own key, and a client's key must not gain rights that way.
        """
        self._admission = admission
        self._pepper = pepper
        self._bootstrap_key = None if first is None else (hash_key(first[0], pepper), first[1])
        self._now = now
        self._cache = Cache[bytes, Caller | None](
            self._read_caller, seconds=CACHED_FOR, most=MOST_CACHED_KEYS, clock=clock
        )
        """Cached by hash, because anybody can send many long texts as keys."""

    async def caller(self, authorization: bytes) -> Caller | None:
        """Return the caller for an `Authorization` header; None if its key is not valid."""
        word, _, key = authorization.partition(b" ")
        if word.lower() != b"bearer" or not key:
            return None
        try:
            hashed = hash_key(key.decode(), self._pepper)
        except UnicodeDecodeError:
            return None
        caller, _ = await self._cache.get(hashed)
        return caller

    async def _read_caller(self, hashed: bytes) -> Caller | None:
        """Return the caller whose key has this hash; None if the key is unknown or has ended."""
        try:
            key = await self._admission.key(hashed)
        except NotFound:
            if self._bootstrap_key is not None and hmac.compare_digest(
                hashed, self._bootstrap_key[0]
            ):
                return Caller(key="", environment=self._bootstrap_key[1])
            return None
        except (ValueError, msgspec.ValidationError) as error:
            log.warning("a key was refused because it cannot be read: %s", error)
            return None
        if not key.is_valid_at(self._now()):
            return None
        needs = frozenset[Need]().union(*(ALLOWS.get(scope, ()) for scope in key.scopes))
        return Caller(
            key=key.id,
            environment=key.environment,
            application=key.application,
            needs=needs,
            flags=frozenset(key.feature_flags),
        )

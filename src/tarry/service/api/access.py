"""Who asks, and what they may do."""

import hmac
import logging
import time
from collections.abc import Callable
from enum import Enum, auto

import msgspec
from msgspec import Struct

from tarry.errors import NotFound
from tarry.service.api.memory import Memory
from tarry.service.keys import hash_key
from tarry.service.model.key import Scope
from tarry.service.store.registry import Registry

log = logging.getLogger("tarry.service")

KNOWN_FOR = 0.5
"""Seconds that a key is remembered: one that was revoked opens nothing after that."""
MOST_KNOWN = 10_000


class Need(Enum):
    """What an operation does, for the question who may ask for it."""

    NOTHING = auto()  # everybody may
    SEND = auto()
    LOOK = auto()
    SECRETS = auto()  # look at endpoints' secrets
    ROTATE = auto()
    ATTEMPTS = auto()  # have deliveries made once more
    ENDPOINTS = auto()  # make, change and delete them
    CHANGE = auto()  # the same for everything else
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
    """The scope that allows this, and as little else as can be."""
    scopes = (Scope.SEND, Scope.READ, Scope.WRITE, Scope.ADMIN)
    return next(scope for scope in scopes if need in ALLOWS[scope])


class Who(Struct, frozen=True, kw_only=True):
    """Somebody with a key to an environment, or to one `application` of it only."""

    key: str
    environment: str
    application: str | None = None
    needs: frozenset[Need] = frozenset(Need)
    flags: frozenset[str] = frozenset()
    """Those of a tenant's people: they see what is behind them."""


class Access:
    """Knows whose keys open what."""

    def __init__(
        self,
        registry: Registry,
        pepper: bytes,
        *,
        first: tuple[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Keys are hashed with `pepper`; `first` is a key that needs no row, and its environment.

        That one may do everything, unless it has a row after all: then that says what it may do,
        and whether it is over. The same variable gives a server its key and a client its own.
        """
        self._registry = registry
        self._pepper = pepper
        self._first = None if first is None else (hash_key(first[0], pepper), first[1])
        self._now = now
        self._known = Memory[bytes, Who | None](
            self._look, seconds=KNOWN_FOR, most=MOST_KNOWN, clock=clock
        )
        """By hash: whoever has no key may come with long ones, and many."""

    async def who(self, authorization: bytes) -> Who | None:
        """Whoever gave this header; None if its key opens nothing."""
        word, _, key = authorization.partition(b" ")
        if word.lower() != b"bearer" or not key:
            return None
        try:
            hashed = hash_key(key.decode(), self._pepper)
        except UnicodeDecodeError:
            return None
        who, _ = await self._known.get(hashed)
        return who

    async def _look(self, hashed: bytes) -> Who | None:
        try:
            key = await self._registry.key(hashed)
        except NotFound:
            if self._first is not None and hmac.compare_digest(hashed, self._first[0]):
                return Who(key="", environment=self._first[1])
            return None
        except (ValueError, msgspec.ValidationError) as error:
            log.warning("a key was refused because it cannot be read: %s", error)
            return None
        if not key.opens(self._now()):
            return None
        needs = frozenset[Need]().union(*(ALLOWS.get(scope, ()) for scope in key.scopes))
        return Who(
            key=key.id,
            environment=key.environment,
            application=key.application,
            needs=needs,
            flags=frozenset(key.feature_flags),
        )

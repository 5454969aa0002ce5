"""An API key: admits a program to an environment, or a tenant's users to one application."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace


class Scope(StrEnum):
    """What a key may do."""

    ADMIN = "admin"  # everything, keys included
    WRITE = "write"  # everything but keys
    READ = "read"  # read everything but secrets
    SEND = "send"  # send messages
    # For a tenant's users, in one application.
    VIEW_BASE = "ViewBase"
    VIEW_ENDPOINT_SECRET = "ViewEndpointSecret"  # noqa: S105  a name, not a secret
    MANAGE_ENDPOINT_SECRET = "ManageEndpointSecret"  # noqa: S105  likewise
    MANAGE_TRANSFORMATIONS = "ManageTransformations"
    CREATE_ATTEMPTS = "CreateAttempts"
    MANAGE_ENDPOINT = "ManageEndpoint"


class Key(Struct, frozen=True, kw_only=True):
    """The stored form of a key: a keyed hash, from which the key cannot be computed.

    With an `application`, the key admits to that application only; of the event types behind
    feature flags it sees those with one of its own flags. `session` groups keys that are
    revoked together.
    """

    id: str
    environment: str
    hash: bytes
    name: str = ""
    scopes: tuple[Scope, ...] = ()
    application: str | None = None
    session: str | None = None
    feature_flags: tuple[str, ...] = ()
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None

    @property
    def ends_at(self) -> float | None:
        """When it expires or was revoked, whichever is first; None if neither is set."""
        ends = [at for at in (self.expires_at, self.revoked_at) if at is not None]
        return min(ends, default=None)

    def revoked(self, now: float, delay: float = 0.0) -> "Key":
        """Return the key revoked at `now`, or expiring after `delay`; unchanged if revoked."""
        if self.revoked_at is not None:
            return self
        if not delay:
            return replace(self, revoked_at=now)
        end = now + delay
        return replace(
            self, expires_at=end if self.expires_at is None else min(end, self.expires_at)
        )

    def is_valid_at(self, now: float) -> bool:
        """Return whether the key has neither expired nor been revoked by `now`."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

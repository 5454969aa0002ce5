"""A key: what lets a program into an environment, or a tenant's people into one application."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace


class Scope(StrEnum):
    """What a key may do."""

    ADMIN = "admin"  # everything, keys included
    WRITE = "write"  # everything but keys
    READ = "read"  # look, but not at secrets
    SEND = "send"  # send messages
    # Those of a tenant's people, in one application.
    VIEW_BASE = "ViewBase"
    VIEW_ENDPOINT_SECRET = "ViewEndpointSecret"  # noqa: S105  a name, not a secret
    MANAGE_ENDPOINT_SECRET = "ManageEndpointSecret"  # noqa: S105  likewise
    MANAGE_TRANSFORMATIONS = "ManageTransformations"
    CREATE_ATTEMPTS = "CreateAttempts"
    MANAGE_ENDPOINT = "ManageEndpoint"


class Key(Struct, frozen=True, kw_only=True):
    """What is kept of a key: a keyed hash, from which nobody can make the key.

    With an `application` it opens that one only, and of the types of events behind flags those with
    one of its own. `session` groups keys that are to end together.
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
        """When it has let somebody in for the last time; None if that is not known."""
        ends = [at for at in (self.expires_at, self.revoked_at) if at is not None]
        return min(ends, default=None)

    def revoked(self, now: float, delay: float = 0.0) -> "Key":
        """The same from `now` on, or as it is if it was revoked; after a `delay` it expires."""
        if self.revoked_at is not None:
            return self
        if not delay:
            return replace(self, revoked_at=now)
        end = now + delay
        return replace(
            self, expires_at=end if self.expires_at is None else min(end, self.expires_at)
        )

    def opens(self, now: float) -> bool:
        """Whether it still lets anybody in."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

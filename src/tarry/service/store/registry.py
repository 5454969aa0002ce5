"""The contract for the data of the HTTP API: event types, keys, claims, notices."""

from collections.abc import Callable, Sequence
from typing import Protocol

from tarry.service.model.claim import Claim, ClaimEnd
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key
from tarry.service.model.lane import Notice
from tarry.service.model.listing import Cut


class Registry(Protocol):
    """Small tables, by environment."""

    async def add_event_type(self, event_type: EventType) -> None:
        """Add an event type; Conflict("event type", name) if it exists there, archived or not."""

    async def change_event_type(
        self, environment: str, name: str, change: Callable[[EventType], EventType]
    ) -> EventType:
        """Apply `change` to the stored event type, like `change_endpoint`; NotFound if none."""

    async def delete_event_type(self, environment: str, name: str) -> None:
        """Delete an event type; NotFound("event type", name) if there is none."""

    async def event_type(self, environment: str, name: str) -> EventType:
        """Return the event type of this name; NotFound if there is none."""

    async def list_event_types(
        self, environment: str, cut: Cut, *, archived: bool = False
    ) -> list[EventType]:
        """Return event types by name; archived ones only if `archived`. The marks are names."""

    async def add_key(self, key: Key) -> None:
        """Add a new key; Conflict("key", id) if a key with its hash exists."""

    async def key(self, hashed: bytes) -> Key:
        """Return the key with this hash, even if revoked; NotFound("key", "...") if none."""

    async def revoke_key(self, environment: str, key: str, *, now: float) -> Key:
        """Revoke a key as of `now`; a key that is revoked already keeps its time.

        NotFound("key", id) if the environment has none with this id.
        """

    async def revoke_keys(
        self, application: str, *, sessions: Sequence[str] | None, now: float, delay: float = 0.0
    ) -> int:
        """Revoke the keys to an application, all or those of some sessions; return their number.

        With a `delay` they expire after that many seconds instead, unless they expire earlier.
        """

    async def list_keys(self, environment: str, cut: Cut) -> list[Key]:
        """Return an environment's keys by id, revoked ones too, without keys to one application."""

    async def keep(self, name: str, value: bytes, *, instead_of: bytes | None = None) -> bytes:
        """Save a value under a name unless one exists; return the value that is stored now.

        With `instead_of`, save it only in place of that value. The result is empty if no value is
        stored.
        """

    async def claim(self, claim: Claim, *, now: float) -> Claim:
        """Claim a key for a holder, and return the claim as it is stored then.

        The caller is the holder of the returned claim if the key was free, or if the previous
        holder had no answer by its `until` (compared with `now`) and the fingerprint is the same.
        Otherwise the claim belongs to another holder, or has an answer. `at` and `fingerprint` are
        always those of the first claim. Atomic: of several callers at once, one gets the key.
        """

    async def end_claim(self, claim: Claim, end: ClaimEnd) -> None:
        """End a claim, if this holder still has it and it has no answer; see `ClaimEnd`."""

    async def untold(self, *, after: str = "", limit: int = 100) -> list[Notice]:
        """Return notices that were not sent yet, by id, after the id `after`."""

    async def mark_sent(self, notices: Sequence[str]) -> None:
        """Mark notices as sent; unknown ids are ignored."""

"""What a store must keep for those who come over HTTP: event types, keys, claims, notices."""

from collections.abc import Callable, Sequence
from typing import Protocol

from tarry.service.model.claim import Claim
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key
from tarry.service.model.lane import Notice
from tarry.service.model.listing import Cut


class Registry(Protocol):
    """Small tables, by environment."""

    async def add_event_type(self, event_type: EventType) -> None:
        """Add one; Conflict("event type", name) if its environment has it, archived or not."""

    async def change_event_type(
        self, environment: str, name: str, change: Callable[[EventType], EventType]
    ) -> EventType:
        """Change one as it is by now, as `change_endpoint` does; NotFound if there is none."""

    async def delete_event_type(self, environment: str, name: str) -> None:
        """Forget one; NotFound("event type", name) if there is none."""

    async def event_type(self, environment: str, name: str) -> EventType:
        """The one of this name; NotFound if there is none."""

    async def list_event_types(
        self, environment: str, cut: Cut, *, archived: bool = False
    ) -> list[EventType]:
        """An environment's, by name; archived ones only if asked for. Marks are names."""

    async def add_key(self, key: Key) -> None:
        """Keep a new key; Conflict("key", id) if its hash is there."""

    async def key(self, hashed: bytes) -> Key:
        """The key with this hash, revoked or not; NotFound("key", "...") if there is none."""

    async def revoke_key(self, environment: str, key: str, *, now: float) -> Key:
        """Let a key open nothing any more from `now` on; once revoked its time stays.

        NotFound("key", id) if the environment has none of this id.
        """

    async def revoke_keys_of(
        self, application: str, *, sessions: Sequence[str] | None, now: float, delay: float = 0.0
    ) -> int:
        """Revoke the keys to an application, all or those of some sessions; how many it was.

        With a `delay` in seconds they expire then, unless they do so before.
        """

    async def list_keys(self, environment: str, cut: Cut) -> list[Key]:
        """An environment's keys by id, revoked ones included, those to one application left out."""

    async def keep(self, name: str, value: bytes) -> bytes:
        """Keep a value under a name, unless there is one; what is kept then."""

    async def keep_instead(self, name: str, value: bytes, *, of: bytes) -> bool:
        """Keep a value in the place of another one; whether that was still there."""

    async def claim(self, claim: Claim, *, now: float) -> Claim:
        """Claim a key for its holder, or tell how it stands.

        What is returned is what is stored then. Its holder is the caller's if the key was free, or
        its holder had not answered by its `until` (judged by `now`) and the fingerprint is the
        same: `at` and `fingerprint` are the first ones in any case. Else it is another's, or has an
        answer. Atomic: of many callers at once one gets it.
        """

    async def answer(self, claim: Claim) -> None:
        """Keep the answer (`status`, `body`) of a claim its holder still has, else nothing."""

    async def release_claim(self, claim: Claim) -> None:
        """Forget a claim of this holder without an answer: the next one may try."""

    async def lapse_claim(self, claim: Claim) -> None:
        """Let a claim of this holder pass on at once, if it has no answer.

        To the same request only, with its first `at`: for it may have been carried out.
        """

    async def untold(self, *, after: str = "", limit: int = 100) -> list[Notice]:
        """Notices that nobody was told of yet, by id, behind one."""

    async def told(self, notices: Sequence[str]) -> None:
        """Mark notices as told; unknown ids are left alone."""

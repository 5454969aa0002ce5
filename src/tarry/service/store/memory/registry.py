"""Data of the HTTP API in the memory store."""

from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from msgspec.structs import replace

from tarry.errors import Conflict, NotFound
from tarry.service.model.audit import Action, changed, event_type_target, revoked_target
from tarry.service.model.claim import Claim, ClaimEnd
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key
from tarry.service.model.listing import FIRST, LAST, Cut, Found
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.event_type_page import page_of_event_types
from tarry.service.store.memory.data import Data


class MemoryRegistry(RecordsByKind):
    """Event types, keys, kept values and claims."""

    _data: Data

    async def _create_event_type(self, event_type: EventType, *, by: Action | None = None) -> None:
        """Add an event type that does not exist yet."""
        name = (event_type.environment, event_type.name)
        if name in self._data.event_types:
            raise Conflict("event type", event_type.name)
        self._data.event_types[name] = event_type
        self._data.write_entry(by, changed(event_type))

    async def _change_event_type(
        self,
        environment: str,
        name: str,
        change: Callable[[EventType], EventType],
        *,
        by: Action | None = None,
    ) -> EventType:
        """Apply `change` to the stored event type."""
        stored = await self._event_type(environment, name)
        saved = replace(change(stored), environment=environment, name=name)
        self._data.event_types[environment, name] = saved
        self._data.write_entry(by, changed(saved, stored))
        return saved

    async def _delete_event_type(
        self, environment: str, name: str, *, by: Action | None = None
    ) -> None:
        """Delete an event type."""
        await self._event_type(environment, name)
        del self._data.event_types[environment, name]
        self._data.write_entry(by, event_type_target(name))

    async def _event_type(self, environment: str, name: str) -> EventType:
        """Return the event type of this name."""
        if (environment, name) not in self._data.event_types:
            raise NotFound("event type", name)
        return self._data.event_types[environment, name]

    async def _page_event_types(
        self, environment: str, cut: Cut, *, archived: bool
    ) -> Found[EventType]:
        """Return an environment's event types, by name."""
        event_types = {
            event_type.name: event_type
            for event_type in self._data.event_types.values()
            if event_type.environment == environment and (archived or not event_type.archived)
        }
        names = _names_from_mark(event_types, cut)
        return page_of_event_types([event_types[name] for name in names], cut)

    async def _create_key(self, key: Key, *, by: Action | None = None) -> None:
        """Add a new key."""
        keys = self._data.api_keys
        if key.id in keys or any(key.hash == other.hash for other in keys.values()):
            raise Conflict("key", key.id)
        keys[key.id] = key
        self._data.write_entry(by, changed(key))

    async def key(self, hashed: bytes) -> Key:
        """Return the key with this hash."""
        for key in self._data.api_keys.values():
            if key.hash == hashed and key.application not in self._data.hidden:
                return key
        raise NotFound("key", "...")

    async def _change_key(
        self,
        environment: str,
        key: str,
        change: Callable[[Key], Key],
        *,
        by: Action | None = None,
    ) -> Key:
        """Apply `change` to a stored key; only its expiry and revocation are saved."""
        stored = self._data.api_keys.get(key)
        if stored is None or stored.environment != environment:
            raise NotFound("key", key)
        new = change(stored)
        saved = replace(stored, expires_at=new.expires_at, revoked_at=new.revoked_at)
        self._data.api_keys[key] = saved
        self._data.write_entry(by, changed(saved, stored))
        return saved

    async def revoke_keys(
        self,
        application: str,
        *,
        sessions: Sequence[str] | None,
        now: float,
        delay: float = 0.0,
        by: Action | None = None,
    ) -> int:
        """Revoke the keys to an application; return their number."""
        keys = [
            key
            for key in self._data.api_keys.values()
            if key.application == application
            and key.revoked_at is None
            and (sessions is None or key.session in sessions)
        ]
        for key in keys:
            self._data.api_keys[key.id] = key.revoked(now, delay)
        self._data.write_entry(by, revoked_target(application, len(keys)))
        return len(keys)

    async def _page_keys(self, environment: str, cut: Cut) -> Found[Key]:
        """Return an environment's keys, by id."""
        keys = {
            key.id: key
            for key in self._data.api_keys.values()
            if key.environment == environment and key.application is None
        }
        return Found([keys[key_id] for key_id in _names_of_page(keys, cut)])

    async def keep(self, name: str, value: bytes, *, instead_of: bytes | None = None) -> bytes:
        """Save a value under a name unless one exists, or instead of one; return the stored one."""
        if self._data.kept.get(name) == instead_of:
            self._data.kept[name] = value
        return self._data.kept.get(name, b"")

    async def claim(self, claim: Claim, *, now: float) -> Claim:
        """Claim a key for a holder, and return the claim as it is stored then."""
        claimed_key = (claim.environment, claim.key)
        stored = self._data.claims.get(claimed_key)
        if stored is None:
            stored = replace(claim, status=None, body=b"")
        elif stored.passes_to(claim, now):
            stored = replace(stored, holder=claim.holder, until=claim.until)
        self._data.claims[claimed_key] = stored
        return stored

    async def end_claim(self, claim: Claim, end: ClaimEnd) -> None:
        """End a claim, if this holder still has it and it has no answer."""
        claimed_key, stored = (claim.environment, claim.key), self._unanswered_claim(claim)
        if stored is None:
            return
        match end:
            case ClaimEnd.ANSWERED:
                self._data.claims[claimed_key] = replace(
                    stored, status=claim.status, body=claim.body
                )
            case ClaimEnd.RELEASED:
                del self._data.claims[claimed_key]
            case ClaimEnd.LAPSED:
                self._data.claims[claimed_key] = replace(stored, until=0.0)
            case _:
                assert_never(end)

    async def mark_sent(self, notices: Sequence[str]) -> None:
        """Mark notices as sent."""
        self._data.sent.update(self._data.notices.keys() & set(notices))

    def _unanswered_claim(self, claim: Claim) -> Claim | None:
        """Return the stored claim if its holder still has it and has not answered it."""
        stored = self._data.claims.get((claim.environment, claim.key))
        is_held = stored is not None and stored.holder == claim.holder and stored.status is None
        return stored if is_held else None


def _names_of_page(names: Iterable[str], cut: Cut) -> list[str]:
    """Return the names of a page, in the order of the list."""
    return cut.in_order(_names_from_mark(names, cut))


def _names_from_mark(names: Iterable[str], cut: Cut) -> list[str]:
    """Return the names on the page's side of the mark, the one next to it first."""
    low, high = cut.between(FIRST, LAST)
    beyond = (name for name in names if low < name < high)
    return sorted(beyond, reverse=not cut.upwards)

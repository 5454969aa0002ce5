"""Maintenance of the memory store."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from tarry.errors import StoreError
from tarry.service.model.message import Message
from tarry.service.store.contract import Retention
from tarry.service.store.memory.data import Data


class MemoryUpkeep:
    """See `contract.Upkeep`."""

    _data: Data

    async def sweep(self, retention: Retention, *, limit: int) -> int:
        """Remove data past its retention; return the number of rows, 0 when there is no more."""
        ended = list(islice(self._ended(retention.messages_before), limit))
        swept = sum(self._forget(message) for message in ended)
        for message in list(islice(self._with_removable_payload(retention), limit)):
            self._data.messages[message.id] = replace(message, payload=None, sealed_with=None)
            swept += 1
        swept += self._forget_keys(retention.keys_before, limit)
        swept += self._forget_tasks(retention.tasks_before, limit)
        swept += self._forget_claims(retention.claims_before, limit)
        swept += self._forget_portal_keys(retention.portal_keys_before, limit)
        swept += self._forget_entries(retention.audit_before, limit)
        return swept + self._forget_notices(retention.notices_before, limit)

    async def backup(self, target: Path) -> None:
        """Raise: there is nothing to copy."""
        raise StoreError(f"the memory store keeps nothing that could be copied to {target}")

    async def check(self) -> None:
        """Do nothing: the store works as long as the process lives."""

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _ended(self, accepted_before: float | None) -> Iterator[Message]:
        """Yield the old messages that have no live delivery."""
        if accepted_before is None:
            return
        for message in self._data.messages.values():
            if message.accepted_at < accepted_before and self._data.has_ended(message):
                yield message

    def _with_removable_payload(self, retention: Retention) -> Iterator[Message]:
        """Return messages whose payload may be removed."""

        def earlier(at: float | None, before: float | None) -> bool:
            return at is not None and before is not None and at < before

        for message in self._data.messages.values():
            old = earlier(message.accepted_at, retention.payloads_before)
            expired = earlier(message.payload_until, retention.expired_before)
            if message.payload is not None and (old or expired) and self._data.has_ended(message):
                yield message

    def _forget(self, message: Message) -> int:
        """Remove a message with its deliveries and attempts; return how many rows that were."""
        data = self._data
        positions = data.positions.pop(message.id, [])
        for lane, seq in positions:
            lane.forget(seq)
        attempts = data.attempts.pop(message.id, [])
        data.keys = {key: first for key, first in data.keys.items() if first[1] != message.id}
        if message.event_id is not None:
            del data.event_ids[message.application, message.event_id]
        del data.messages[message.id]
        return 1 + len(positions) + len(attempts)

    def _forget_keys(self, before: float | None, limit: int) -> int:
        """Remove old idempotency keys of messages, `limit` at most; return how many."""
        messages, keys = self._data.messages, self._data.keys
        old = (
            key
            for key, (_, message) in keys.items()
            if before is not None and messages[message].accepted_at < before
        )
        removed = list(islice(old, limit))
        for key in removed:
            del keys[key]
        return len(removed)

    def _forget_tasks(self, before: float | None, limit: int) -> int:
        """Remove tasks that finished long ago, `limit` at most; return how many."""
        tasks = self._data.tasks
        old = (
            task.id
            for task in tasks.values()
            if before is not None and task.finished_at is not None and task.finished_at < before
        )
        removed = list(islice(old, limit))
        for task in removed:
            del tasks[task]
        return len(removed)

    def _forget_notices(self, before: float | None, limit: int) -> int:
        """Remove old notices, `limit` at most; return how many."""
        notices = self._data.notices.values()
        old = (notice.id for notice in notices if before is not None and notice.at < before)
        removed = list(islice(old, limit))
        for notice in removed:
            del self._data.notices[notice]
        self._data.sent.difference_update(removed)
        return len(removed)

    def _forget_claims(self, before: float | None, limit: int) -> int:
        """Remove old claims of requests, `limit` at most; return how many."""
        claims = self._data.claims
        old = (
            claimed_key
            for claimed_key, claim in claims.items()
            if before is not None and claim.at < before
        )
        removed = list(islice(old, limit))
        for claimed_key in removed:
            del claims[claimed_key]
        return len(removed)

    def _forget_entries(self, before: float | None, limit: int) -> int:
        """Remove old entries of the audit trail, `limit` at most; return how many."""
        entries = self._data.audit
        old = (entry.id for entry in entries.values() if before is not None and entry.at < before)
        removed = list(islice(old, limit))
        for entry in removed:
            del entries[entry]
        return len(removed)

    def _forget_portal_keys(self, before: float | None, limit: int) -> int:
        """Remove portal keys that ended long ago, `limit` at most; return how many."""
        keys = self._data.api_keys
        old = (
            key.id
            for key in keys.values()
            if before is not None
            and key.application is not None
            and key.ends_at is not None
            and key.ends_at < before
        )
        removed = list(islice(old, limit))
        for key in removed:
            del keys[key]
        return len(removed)

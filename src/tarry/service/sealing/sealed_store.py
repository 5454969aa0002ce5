"""Wraps a store: seals payloads and responses on the way in, and opens them on the way out."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

from msgspec.structs import replace

from tarry.errors import (
    BacklogFull,
    Conflict,
    ErasedKeyError,
    NotFound,
    SealError,
    StoreUnavailable,
)
from tarry.service.model.attempt import ERASED, UNAVAILABLE, Attempt, Resent, Settlement
from tarry.service.model.audit import Action
from tarry.service.model.lane import Change, Due, Fetched, LaneRow, Lease, Noting, Want
from tarry.service.model.listing import Cut, Found
from tarry.service.model.message import Accepted, Message, NewMessage
from tarry.service.model.task import Task
from tarry.service.sealing.data_keys import DataKeys, OpenKey
from tarry.service.store.contract import Seal, Store
from tarry.service.store.kinds import DeletableKind, Gettable, Paged, Query
from tarry.service.wire.seal import Place, Seals

log = logging.getLogger("tarry.service")

UNOPENED_PAYLOAD = "the payload of message %s cannot be opened: %s"
"""Only the log says why: users must not learn the names of sealing keys."""

Record = TypeVar("Record")
Result = Accepted | Conflict | NotFound | BacklogFull
Keys = Mapping[str, OpenKey]
"""Data keys by id, or by application."""


def sealed_store(store: Store, seals: Seals, *, seal_payloads: bool) -> Store:
    """Return a store whose callers see plain payloads and responses, however they are stored."""
    return cast("Store", SealedStore(store, seals, seal_payloads=seal_payloads))


class SealedStore:
    """Seals what is written if `seal_payloads` is set, and opens what is sealed in any case.

    Methods that have nothing to do with payloads and responses are those of the wrapped store.
    """

    def __init__(self, store: Store, seals: Seals, *, seal_payloads: bool) -> None:
        self._store, self._seals_payloads = store, seal_payloads
        self.data_keys = DataKeys(store, seals)
        self._application_of: dict[int, str] = {}
        """The applications of the lanes that the dispatcher has loaded, if it seals responses."""

    def __getattr__(self, name: str) -> object:
        """Return a method of the wrapped store."""
        return getattr(self._store, name)

    # --- Erasing --------------------------------------------------------------------------------

    async def erase(self, application: str, *, now: float, by: Action | None = None) -> bool:
        """Delete an application's data key, here and in the store."""
        erased = await self._store.erase(application, now=now, by=by)
        self.data_keys.forget()
        return erased

    async def delete(
        self,
        kind: DeletableKind,
        known_as: str,
        *,
        now: float,
        by: Action | None = None,
        noting: Noting | None = None,
    ) -> list[Task]:
        """Delete a record; an application's data key goes with it."""
        tasks = await self._store.delete(kind, known_as, now=now, by=by, noting=noting)
        self.data_keys.forget()
        return tasks

    # --- Accepting ------------------------------------------------------------------------------

    async def add(self, messages: Sequence[NewMessage]) -> list[Result]:
        """Accept messages; seal them again if a data key is erased meanwhile."""
        while True:
            try:
                return await self._add(messages)
            except ErasedKeyError:
                self.data_keys.forget()

    async def _add(self, messages: Sequence[NewMessage]) -> list[Result]:
        """Accept messages, and return their results with plain payloads."""
        stored = messages
        if self._seals_payloads:
            keys = await self.data_keys.of({new.message.application for new in messages})
            stored = [_sealed_new(new, keys[new.message.application]) for new in messages]
        results = await self._store.add(stored)
        for index, result in enumerate(results):
            if isinstance(result, Conflict) and result.key == messages[index].key:
                results[index] = await self._add_otherwise(messages[index], stored[index], result)
        repeated = iter(
            await self._opened(
                [
                    result.message
                    for result in results
                    if isinstance(result, Accepted) and result.repeated
                ]
            )
        )
        return [
            result
            if not isinstance(result, Accepted)
            else Accepted(next(repeated), repeated=True)
            if result.repeated
            else Accepted(new.message)
            for new, result in zip(messages, results, strict=True)
        ]

    async def _add_otherwise(
        self, new: NewMessage, stored: NewMessage, conflict: Conflict
    ) -> Result:
        """Compare a message with the first one of its key by the other kind of fingerprint.

        The first one may be from before payloads were sealed, or from when they were.
        """
        if self._seals_payloads:
            other = new.fingerprint
        else:
            application = new.message.application
            key = (await self.data_keys.named({application})).get(application)
            if key is None:
                return conflict
            other = key.keyed(new.fingerprint)
        (result,) = await self._store.add([replace(stored, fingerprint=other)])
        return result

    async def collect(self, *, now: float, limit: int) -> int:
        """Accept messages from the outbox table, sealed if payloads are.

        Messages that cannot be sealed stay there until the right sealing keys are back.
        """
        if not self._seals_payloads:
            return await self._store.collect(now=now, limit=limit)
        keys, leave = dict[str, OpenKey](), set[str]()
        seal = Seal(lambda messages: self._sealed_by_known(messages, keys), leave)
        while True:
            try:
                return await self._store.collect(now=now, limit=limit, seal=seal)
            except _MissingKeysError as needed:
                for name, key in (await self.data_keys.of(needed.applications)).items():
                    if key.why:
                        log.warning("messages of %s stay in the outbox: %s", name, key.why)
                        leave.add(name)
                    keys[name] = key
            except ErasedKeyError:
                keys.clear()
                self.data_keys.forget()

    def _sealed_by_known(self, messages: Sequence[Message], keys: Keys) -> list[Message]:
        """Return messages sealed with these keys or those in memory, or raise _MissingKeysError."""
        usable = {
            application: key
            for application in {message.application for message in messages}
            if (key := keys.get(application) or self.data_keys.known(application)) and not key.why
        }
        if missing := {message.application for message in messages} - usable.keys():
            raise _MissingKeysError(missing)
        return [_sealed_message(message, usable[message.application]) for message in messages]

    # --- Delivering -----------------------------------------------------------------------------

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        """Return lanes, and remember their applications to seal responses."""
        lane_rows = await self._store.lanes(lanes)
        if self._seals_payloads:
            self._application_of.update((row.lane, row.application.id) for row in lane_rows)
        return lane_rows

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        """Return deliveries with plain payloads; erased ones have none."""
        fetched = await self._store.fetch(wants, now=now, most_bytes=most_bytes)
        key_ids = {due.sealed_with for due in fetched.due if due.sealed_with is not None}
        if not key_ids:
            return fetched
        keys = await self.data_keys.named(key_ids)
        sealed_lanes = {due.lane for due in fetched.due if due.sealed_with is not None}
        applications = await self._applications(sealed_lanes)
        return replace(
            fetched,
            due=[_opened_due(due, keys, applications) for due in fetched.due],
            stored_bytes=sum(len(due.payload or b"") for due in fetched.due),
        )

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        """Save outcomes, with the responses sealed if payloads are."""
        if self._seals_payloads:
            lanes = {
                settled.lane
                for settled in settlements
                if settled.attempt is not None and settled.attempt.body
            }
            applications = await self._applications(lanes)
            keys = await self.data_keys.of(applications.values())
            settlements = [
                _sealed_settlement(settled, keys.get(applications.get(settled.lane, "")))
                for settled in settlements
            ]
        return await self._store.settle(settlements, changes, leases)

    async def _applications(self, lanes: set[int]) -> dict[int, str]:
        """Return the applications of lanes."""
        known = {lane: self._application_of[lane] for lane in lanes & self._application_of.keys()}
        if missing := lanes - known.keys():
            lane_rows = await self._store.lanes(sorted(missing))
            known |= {row.lane: row.application.id for row in lane_rows}
        return known

    # --- Reading --------------------------------------------------------------------------------

    async def get(self, kind: Gettable[Record], known_as: str) -> Record:
        """Return a record, opened."""
        (record,) = await self._opened([await self._store.get(kind, known_as)])
        return record

    async def page(self, kind: Paged[Record], cut: Cut) -> Found[Record]:
        """Return a page of records, opened."""
        found = await self._store.page(kind, cut)
        return replace(found, entries=await self._opened(found.entries))

    async def read(self, query: Query[Record]) -> list[Record]:
        """Return records, opened."""
        return await self._opened(await self._store.read(query))

    async def _opened(self, records: list[Record]) -> list[Record]:
        """Return records with their messages and attempts opened, as far as they are sealed."""
        key_ids = {
            part.sealed_with
            for record in records
            for part in _parts(record)
            if isinstance(part, Message | Attempt) and part.sealed_with is not None
        }
        if not key_ids:
            return records
        keys = await self.data_keys.named(key_ids)
        return [_opened_record(record, keys) for record in records]


class _MissingKeysError(Exception):
    """The data keys of these applications are not at hand, or cannot be opened."""

    def __init__(self, applications: set[str]) -> None:
        super().__init__(applications)
        self.applications = applications


# --- Sealing ------------------------------------------------------------------------------------


def _sealed_new(new: NewMessage, key: OpenKey) -> NewMessage:
    """Return a new message sealed, with a keyed fingerprint if it has an idempotency key."""
    sealed = replace(new, message=_sealed_message(new.message, key))
    return sealed if new.key is None else replace(sealed, fingerprint=key.keyed(new.fingerprint))


def _sealed_message(message: Message, key: OpenKey) -> Message:
    if message.payload is None:
        return message
    payload = key.seal(message.payload, _place_of_payload(message.application, message.id))
    return replace(message, payload=payload, sealed_with=key.id)


def _sealed_settlement(settled: Settlement | Resent, key: OpenKey | None) -> Settlement | Resent:
    """Return a settlement with its response sealed; without one if its application is unknown."""
    attempt = settled.attempt
    if attempt is None or not attempt.body:
        return settled
    return replace(settled, attempt=_sealed_attempt(attempt, key) if key else attempt.bare())


def _sealed_attempt(attempt: Attempt, key: OpenKey) -> Attempt:
    """Return an attempt with its response sealed.

    The outcome of a delivery must be saved, so the response is dropped if it cannot be sealed.
    """
    try:
        sealed = key.seal(attempt.body, _place_of_response(attempt, key))
    except StoreUnavailable as error:
        log.warning("the response of attempt %s is not kept: %s", attempt.id, error)
        return replace(attempt, body=b"")
    return replace(attempt, body=sealed, sealed_with=key.id)


# --- Opening ------------------------------------------------------------------------------------


def _parts(record: object) -> Iterator[object]:
    """Yield a record, or the parts of one that is a tuple."""
    if isinstance(record, tuple):
        yield from record
    else:
        yield record


def _opened_record(record: Record, keys: Keys) -> Record:
    if isinstance(record, tuple):
        return cast("Record", tuple(_opened_part(part, keys) for part in record))
    return _opened_part(record, keys)


def _opened_part(part: Record, keys: Keys) -> Record:
    if isinstance(part, Message):
        return cast("Record", _opened_message(part, keys))
    if isinstance(part, Attempt):
        return cast("Record", _opened_attempt(part, keys))
    return part


def _opened_message(message: Message, keys: Keys) -> Message:
    """Return a message with its plain payload, or without one.

    It still names its data key if that was erased, and none if the payload cannot be opened.
    """
    if message.sealed_with is None:
        return message
    key = keys.get(message.sealed_with)
    if key is None or message.payload is None:
        return replace(message, payload=None)
    payload: bytes | None = None
    try:
        payload = key.open(message.payload, _place_of_payload(message.application, message.id))
    except SealError as error:
        log.warning(UNOPENED_PAYLOAD, message.id, error)
    return replace(message, payload=payload, sealed_with=None)


def _opened_attempt(attempt: Attempt, keys: Keys) -> Attempt:
    """Return an attempt with its plain response, or with ERASED or UNAVAILABLE instead."""
    if attempt.sealed_with is None:
        return attempt
    key = keys.get(attempt.sealed_with)
    if key is None or not attempt.body:  # the store does not save a body whose key was erased
        return replace(attempt, body=ERASED)
    try:
        body = key.open(attempt.body, _place_of_response(attempt, key))
    except SealError as error:
        log.warning("the response of attempt %s cannot be opened: %s", attempt.id, error)
        body = UNAVAILABLE
    return replace(attempt, body=body, sealed_with=None)


def _opened_due(due: Due, keys: Keys, applications: Mapping[int, str]) -> Due:
    """Return a delivery with its plain payload, or without one if its data key was erased."""
    if due.sealed_with is None:
        return due
    key = keys.get(due.sealed_with)
    if key is None or due.payload is None:
        return replace(due, payload=None)
    place = _place_of_payload(applications.get(due.lane, ""), due.message)
    try:
        return replace(due, payload=key.open(due.payload, place), sealed_with=None)
    except SealError as error:
        log.warning(UNOPENED_PAYLOAD, due.message, error)
        return replace(due, payload=None, unopened=True)


def _place_of_payload(application: str, message: str) -> Place:
    return Place(application, message, "payload")


def _place_of_response(attempt: Attempt, key: OpenKey) -> Place:
    """Return the place of a response. The lane is part of it: it belongs to one application."""
    return Place(key.application, f"{attempt.lane} {attempt.id}", "response")

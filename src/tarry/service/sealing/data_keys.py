"""Data keys in memory: read or created when they are needed, and forgotten after a second."""

import asyncio
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound, SealError, StoreUnavailable
from tarry.service.model import ids
from tarry.service.model.data_key import DataKey
from tarry.service.store.contract import Store
from tarry.service.store.kinds import DataKeys as StoredDataKeys
from tarry.service.wire.seal import KEY_BYTES, Place, Seals, place_of_data_key

FORGET_AFTER = 1.0
"""Seconds after which a data key is forgotten, and read again when it is needed. So all processes
have forgotten an erased key soon."""


class OpenKey(Struct, frozen=True):
    """A data key that is ready for use: its id, its application and its 32 bytes.

    If the data key itself cannot be opened, `why` says so, and the key seals and opens nothing.
    """

    id: str
    application: str
    secret: bytes = b""
    seals: Seals | None = None
    why: str = ""

    @classmethod
    def of(cls, key_id: str, application: str, secret: bytes) -> "OpenKey":
        """Return the key with this secret."""
        return cls(key_id, application, secret, Seals([(key_id, secret)]))

    def __repr__(self) -> str:
        return f"OpenKey({self.id}, {self.application})"

    def seal(self, value: bytes, place: Place) -> bytes:
        """Seal a value for its place; StoreUnavailable if the data key cannot be opened."""
        if self.seals is None:
            raise StoreUnavailable(
                f"the data key of {self.application} cannot be opened: {self.why}"
            )
        return self.seals.seal(value, place)

    def open(self, sealed: bytes, place: Place) -> bytes:
        """Return a value that was sealed for this place; otherwise raise SealError."""
        if self.seals is None:
            raise SealError(self.why)
        return self.seals.open(sealed, place)

    def keyed(self, fingerprint: bytes) -> bytes:
        """Return a fingerprint that reveals nothing to anybody without this key."""
        return blake2b(fingerprint, key=self.secret, digest_size=32).digest()


class DataKeys:
    """The data keys that this process has used within the last second."""

    def __init__(self, store: Store, seals: Seals) -> None:
        self._store, self._seals = store, seals
        self._known: dict[str, OpenKey] = {}
        """By id, and by application."""
        self._reading = asyncio.Lock()
        """Held while keys are read, so that many callers at once read a key once."""
        self._forget_at = 0.0
        """When the keys in memory are forgotten, by the clock of the event loop."""
        self._erased = 0
        """How often `forget` was called."""

    def forget(self) -> None:
        """Forget all keys, and those that are being read: one was erased."""
        self._erased += 1
        self._known.clear()

    def known(self, application: str) -> OpenKey | None:
        """Return an application's data key if it is in memory."""
        return self._known.get(application)

    async def named(self, names: Iterable[str]) -> dict[str, OpenKey]:
        """Return the data keys with these ids or of these applications, without missing ones."""
        wanted = set(names)
        found = self._found(wanted)
        if len(found) < len(wanted):
            async with self._reading:
                found = self._found(wanted)
                if missing := wanted - found.keys():
                    found |= await self._read(missing)
        return found

    async def _read(self, names: set[str]) -> dict[str, OpenKey]:
        """Return the data keys with these names from the store, and keep them in memory."""
        began, erased = asyncio.get_running_loop().time(), self._erased
        stored = await self._store.read(StoredDataKeys(tuple(names)))
        keys = list(map(self._opened, stored))
        self._remember(keys, began, erased)
        return {name: key for key in keys for name in (key.id, key.application) if name in names}

    async def of(self, applications: Iterable[str]) -> dict[str, OpenKey]:
        """Return the data keys of applications; create those that are missing.

        An application that does not exist gets a key that is saved nowhere. The store refuses what
        is sealed with it.
        """
        wanted = set(applications)
        keys = await self.named(wanted)
        for application in wanted - keys.keys():
            keys[application] = await self._create(application)
        return keys

    async def _create(self, application: str) -> OpenKey:
        """Save a new data key of an application, and return the one that it has then."""
        began, erased = asyncio.get_running_loop().time(), self._erased
        now = time.time()
        key_id = ids.make(ids.DATA_KEY, now=now, entropy=secrets.token_bytes(ids.CHANCE))
        new = OpenKey.of(key_id, application, secrets.token_bytes(KEY_BYTES))
        data_key = DataKey(id=key_id, application=application, sealed=b"", created_at=now)
        sealed = self._seals.seal(new.secret, place_of_data_key(data_key))
        try:
            await self._store.create(replace(data_key, sealed=sealed))
        except Conflict:  # another caller created it just now
            return (await self.of([application]))[application]
        except NotFound:
            pass
        self._remember([new], began, erased)
        return new

    async def reseal(self) -> None:
        """Seal all data keys with the newest sealing key."""
        after = ""
        while page := await self._store.read(StoredDataKeys(after=after)):
            for data_key in page:
                if self._seals.needs_resealing(data_key.sealed):
                    with suppress(NotFound):  # it was erased meanwhile
                        await self._store.change(StoredDataKeys(), data_key.id, self._resealed)
            after = page[-1].id

    def _resealed(self, stored: DataKey) -> DataKey:
        """Return a data key sealed with the newest sealing key."""
        place = place_of_data_key(stored)
        sealed = self._seals.seal(self._seals.open(stored.sealed, place), place)
        return replace(stored, sealed=sealed)

    def _found(self, names: set[str]) -> dict[str, OpenKey]:
        return {name: self._known[name] for name in names & self._known.keys()}

    def _remember(self, keys: list[OpenKey], began: float, erased: int) -> None:
        """Keep keys in memory; the oldest sets the time to forget all of them.

        They were read or created since `began`, when `forget` had been called `erased` times. If it
        was called since, the keys may be erased.
        """
        if erased != self._erased:
            return
        forget_at = began + FORGET_AFTER
        if not self._known or forget_at < self._forget_at:
            self._forget_at = forget_at
            asyncio.get_running_loop().call_at(forget_at, self._known.clear)
        for key in keys:
            self._known[key.id] = self._known[key.application] = key

    def _opened(self, stored: DataKey) -> OpenKey:
        """Return a stored data key, ready for use if one of the sealing keys opens it."""
        try:
            secret = self._seals.open(stored.sealed, place_of_data_key(stored))
        except SealError as error:
            return OpenKey(stored.id, stored.application, why=str(error))
        return OpenKey.of(stored.id, stored.application, secret)

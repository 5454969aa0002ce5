"""Keys to the HTTP API: created here and shown once, stored as keyed hashes."""

import secrets
from collections.abc import Callable, Iterable
from hashlib import blake2b

from tarry.errors import Conflict, SettingsError
from tarry.service.model import ids
from tarry.service.model.audit import Action
from tarry.service.model.key import Key, Scope
from tarry.service.model.listing import Cut
from tarry.service.model.text import check_instant
from tarry.service.store import kinds
from tarry.service.store.contract import Store
from tarry.service.wire.seal import Place, Seals

PREFIX = "tarry_"
"""The prefix of a key: a person who finds one knows what it is. It has no full stop, because SDKs
derive a server's address from the part after one."""
PEPPER = "pepper"
_PLACE = Place("", PEPPER, "value")
_BYTES = 32


class Keys:
    """The part of `Hooks` about keys to the API."""

    store: Store
    seals: Seals
    environment: str
    new_id: Callable[[str], str]
    by: Callable[[str], Action]
    _now: Callable[[], float]

    async def pepper(self) -> bytes:
        """Return the secret for hashing keys: created once for a database, and sealed in it."""
        sealed = self.seals.seal(secrets.token_bytes(_BYTES), _PLACE)
        return self.seals.open(await self.store.keep(PEPPER, sealed), _PLACE)

    async def reseal_pepper(self) -> None:
        """Seal the pepper with the newest key."""
        new_pepper = self.seals.seal(secrets.token_bytes(_BYTES), _PLACE)
        sealed = await self.store.keep(PEPPER, new_pepper)
        if self.seals.needs_resealing(sealed):
            again = self.seals.seal(self.seals.open(sealed, _PLACE), _PLACE)
            await self.store.keep(PEPPER, again, instead_of=sealed)

    async def make_key(  # noqa: PLR0913  the fields of a key
        self,
        scopes: Iterable[Scope] = (Scope.ADMIN,),
        *,
        name: str = "",
        application: str | None = None,
        session: str | None = None,
        feature_flags: Iterable[str] = (),
        expires_at: float | None = None,
        id: str | None = None,  # noqa: A002  a key's own field
    ) -> tuple[str, Key]:
        """Create a key to this environment or to one application; return its text and the key.

        The text cannot be shown later. Conflict if a key with this `id` exists; without one, the
        key gets a new id.
        """
        check_instant("expires_at", expires_at)
        listed = tuple(scopes)
        if not listed:
            raise SettingsError("scopes", "nothing", f"some of {', '.join(Scope)}")
        text = PREFIX + secrets.token_urlsafe(_BYTES)
        key = Key(
            id=id or self.new_id(ids.KEY),
            environment=self.environment,
            hash=hash_key(text, await self.pepper()),
            name=name,
            scopes=listed,
            application=application,
            session=session,
            feature_flags=tuple(feature_flags),
            created_at=self._now(),
            expires_at=expires_at,
        )
        await self.store.create(key, by=self.by("make_key"))
        return text, key

    async def first_key(self, *, expires_at: float | None = None) -> str | None:
        """Create a key that may do everything, if the environment never had one; return its text.

        Several processes may start at once: they all use the same id, so only one creates the key.
        """
        if (await self.store.page(kinds.Keys(self.environment), Cut(1))).entries:
            return None
        chance = blake2b(self.environment.encode()).digest()
        try:
            text, _ = await self.make_key(
                name="first",
                id=ids.make(ids.KEY, now=0.0, entropy=chance),
                expires_at=expires_at,
            )
        except Conflict:  # another process created it just now, and shows it
            return None
        return text

    async def revoke_key(self, key: str) -> Key:
        """Revoke a key; NotFound if the environment has none with this id."""
        now = self._now()
        return await self.store.change(
            kinds.Keys(self.environment),
            key,
            lambda stored: stored.revoked(now),
            by=self.by("revoke_key"),
        )


def hash_key(key: str, pepper: bytes) -> bytes:
    """Return the hash that is stored: it does not reveal the key, and needs the pepper to match."""
    return blake2b(key.encode(), key=pepper, digest_size=32).digest()

"""Keys to the HTTP API: made here and shown once, kept as keyed hashes."""

import secrets
from collections.abc import Callable, Iterable
from hashlib import blake2b

from tarry.errors import Conflict, SettingsError
from tarry.service.model import ids
from tarry.service.model.key import Key, Scope
from tarry.service.model.listing import Cut
from tarry.service.model.text import check_instant
from tarry.service.store.contract import Store
from tarry.service.wire.seal import Place, Seals

PREFIX = "tarry_"
"""What a key begins with: whoever finds one knows what it is. It has no full stop: SDKs look for
one to tell where a server is."""
PEPPER = "pepper"
_PLACE = Place("", PEPPER, "value")
_BYTES = 32


class Keys:
    """The part of `Hooks` about keys to the API."""

    store: Store
    seals: Seals
    environment: str
    new_id: Callable[[str], str]
    _now: Callable[[], float]

    async def pepper(self) -> bytes:
        """The secret that keys are hashed with: made once for a database, sealed in it."""
        made = self.seals.seal(secrets.token_bytes(_BYTES), _PLACE)
        return self.seals.open(await self.store.keep(PEPPER, made), _PLACE)

    async def reseal_pepper(self) -> None:
        """Seal it with the newest key."""
        made = self.seals.seal(secrets.token_bytes(_BYTES), _PLACE)
        sealed = await self.store.keep(PEPPER, made)
        if self.seals.needs_resealing(sealed):
            again = self.seals.seal(self.seals.open(sealed, _PLACE), _PLACE)
            await self.store.keep_instead(PEPPER, again, of=sealed)

    async def make_key(  # noqa: PLR0913  what a key may be told
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
        """A new key to this environment, or to one application; the text is shown only now.

        Conflict if there is one with this `id`, which is made if none is told.
        """
        check_instant("expires_at", expires_at)
        told = tuple(scopes)
        if not told:
            raise SettingsError("scopes", "nothing", f"some of {', '.join(Scope)}")
        text = PREFIX + secrets.token_urlsafe(_BYTES)
        key = Key(
            id=id or self.new_id(ids.KEY),
            environment=self.environment,
            hash=hash_key(text, await self.pepper()),
            name=name,
            scopes=told,
            application=application,
            session=session,
            feature_flags=tuple(feature_flags),
            created_at=self._now(),
            expires_at=expires_at,
        )
        await self.store.add_key(key)
        return text, key

    async def first_key(self) -> str | None:
        """A key that may do everything, if there never was one to this environment.

        Several processes may begin at once: to all of them it has the same id, so one makes it.
        """
        if await self.store.list_keys(self.environment, Cut(1)):
            return None
        chance = blake2b(self.environment.encode()).digest()
        try:
            text, _ = await self.make_key(
                name="first", id=ids.make(ids.KEY, now=0.0, entropy=chance)
            )
        except Conflict:  # somebody else made it just now, and shows it
            return None
        return text

    async def revoke_key(self, key: str) -> Key:
        """Let a key open nothing any more; NotFound if the environment has none of this id."""
        return await self.store.revoke_key(self.environment, key, now=self._now())


def hash_key(key: str, pepper: bytes) -> bytes:
    """What is kept of a key: from it nobody can make the key, and without the pepper none fits."""
    return blake2b(key.encode(), key=pepper, digest_size=32).digest()

"""Keys in a database, without a server."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tarry.cli.service_options import serving

PAGE = 250


class DatabaseRing:
    """Keys to an environment of a database, told as the API tells them."""

    def __init__(self, db: str, environment: str) -> None:
        self._db, self._environment = db, environment

    def create(self, name: str, scopes: tuple[str, ...], expires_at: str | None) -> dict[str, Any]:
        """Make one; its text is among what is told."""
        from tarry.service.api.keys import told  # noqa: PLC0415  it needs the extra
        from tarry.service.hooks import open_hooks  # noqa: PLC0415  likewise
        from tarry.service.model.key import Scope  # noqa: PLC0415  likewise

        at = None if expires_at is None else datetime.fromisoformat(expires_at).timestamp()

        @serving
        async def make() -> dict[str, Any]:
            opening = open_hooks(self._db, environment=self._environment, migrate=False)
            async with opening as hooks:
                text, key = await hooks.make_key(map(Scope, scopes), name=name, expires_at=at)
            return {"key": text, **_builtins(told(key))}

        return make()

    def list(self) -> Iterator[dict[str, Any]]:
        """All of them, in the order they were made."""
        from tarry.service.api.keys import told  # noqa: PLC0415  it needs the extra
        from tarry.service.hooks import open_hooks  # noqa: PLC0415  likewise
        from tarry.service.model.listing import Cut  # noqa: PLC0415  likewise

        @serving
        async def look() -> list[dict[str, Any]]:
            found, mark = list[dict[str, Any]](), ""
            async with open_hooks(self._db, migrate=False) as hooks:
                while page := await hooks.store.list_keys(self._environment, Cut(PAGE, mark)):
                    found += [_builtins(told(key)) for key in page]
                    mark = page[-1].id
            return found

        return iter(look())

    def revoke(self, key: str) -> None:
        """Let one open nothing any more; NotFound if the environment has none of this id."""
        from tarry.service.hooks import open_hooks  # noqa: PLC0415  it needs the extra

        @serving
        async def end() -> None:
            async with open_hooks(self._db, migrate=False) as hooks:
                await hooks.within(self._environment).revoke_key(key)

        end()


def _builtins(told: object) -> dict[str, Any]:
    """What the API would write, as JSON has it."""
    import msgspec  # noqa: PLC0415  it needs the extra

    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(told))
    return found

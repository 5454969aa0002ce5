"""API keys in a database, without a server."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tarry.cli.service.options import serving

PAGE_SIZE = 250


class DatabaseKeys:
    """The API keys to one environment in a database, described as in the API's responses."""

    def __init__(self, db: str, environment: str) -> None:
        self._db, self._environment = db, environment

    def create(self, name: str, scopes: tuple[str, ...], expires_at: str | None) -> dict[str, Any]:
        """Create a key; the result includes its text."""
        from tarry.service import open_hooks  # noqa: PLC0415  likewise
        from tarry.service.api.resources.environment.keys import key_out  # noqa: PLC0415  it needs the extra
        from tarry.service.model.key import Scope  # noqa: PLC0415  likewise

        at = None if expires_at is None else datetime.fromisoformat(expires_at).timestamp()

        @serving
        async def create_key() -> dict[str, Any]:
            opening = open_hooks(self._db, environment=self._environment, migrate=False)
            async with opening as hooks:
                command = hooks.for_command("tarry key create")
                text, key = await command.make_key(map(Scope, scopes), name=name, expires_at=at)
            return {"key": text, **_builtins(key_out(key))}

        return create_key()

    def list(self) -> Iterator[dict[str, Any]]:
        """Yield all keys in the order in which they were created."""
        from tarry.service import Cut, kinds, open_hooks  # noqa: PLC0415  likewise
        from tarry.service.api.resources.environment.keys import key_out  # noqa: PLC0415  it needs the extra

        @serving
        async def read_keys() -> list[dict[str, Any]]:
            described, mark = list[dict[str, Any]](), ""
            async with open_hooks(self._db, migrate=False) as hooks:
                kind = kinds.Keys(self._environment)
                while keys := (await hooks.store.page(kind, Cut(PAGE_SIZE, mark))).entries:
                    described += [_builtins(key_out(key)) for key in keys]
                    mark = keys[-1].id
            return described

        return iter(read_keys())

    def revoke(self, key: str) -> None:
        """Revoke a key; raise NotFound if the environment has no key with this id."""
        from tarry.service import open_hooks  # noqa: PLC0415  it needs the extra

        @serving
        async def revoke_key() -> None:
            async with open_hooks(self._db, migrate=False) as hooks:
                within = hooks.within(self._environment)
                await within.for_command("tarry key revoke").revoke_key(key)

        revoke_key()


def _builtins(response: object) -> dict[str, Any]:
    """Convert a response of the API to plain JSON values."""
    import msgspec  # noqa: PLC0415  it needs the extra

    values: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(response))
    return values

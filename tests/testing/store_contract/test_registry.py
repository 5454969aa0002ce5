"""The topic `registry` notices stores that break its rules."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from tarry.service.model.audit import Action
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.registry import RegistryContract

Try = Callable[..., None]


class Generous(MemoryStore):
    """Extends keys that would have expired earlier than the others."""

    async def revoke_keys(
        self,
        application: str,
        *,
        sessions: Sequence[str] | None,
        now: float,
        delay: float = 0.0,
        by: Action | None = None,
    ) -> int:
        for key_id, key in self._data.api_keys.items():
            self._data.api_keys[key_id] = replace(key, expires_at=None)
        return await super().revoke_keys(
            application, sessions=sessions, now=now, delay=delay, by=by
        )


def test_a_store_that_lets_keys_live_longer_is_noticed(try_on: Try) -> None:
    name = "test_the_keys_to_an_application_end_after_a_while"
    try_on(RegistryContract, name)
    with pytest.raises(AssertionError):
        try_on(RegistryContract, name, Generous)

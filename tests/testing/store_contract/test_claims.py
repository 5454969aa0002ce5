"""The topic `claims` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.claim import Claim
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.claims import ClaimsContract

Try = Callable[..., None]


class Forgetful(MemoryStore):
    """Gives a key to every caller."""

    async def claim(self, claim: Claim, *, now: float) -> Claim:
        self._data.claims.clear()
        return await super().claim(claim, now=now)


def test_a_store_that_gives_a_key_to_everybody_is_noticed(try_on: Try) -> None:
    name = "test_of_concurrent_claims_of_a_key_one_succeeds"
    try_on(ClaimsContract, name)
    with pytest.raises(AssertionError):
        try_on(ClaimsContract, name, Forgetful)


def test_a_store_that_takes_any_answer_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "test_the_answer_of_a_replaced_holder_is_dropped"
    try_on(ClaimsContract, name)
    monkeypatch.setattr(MemoryStore, "_unanswered_claim", lambda _, claim: claim)
    with pytest.raises(AssertionError):
        try_on(ClaimsContract, name)

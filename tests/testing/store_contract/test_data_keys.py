"""The topic `data_keys` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.store.memory import MemoryStore
from tarry.service.store.memory.data import Data
from tarry.testing.store_contract.data_keys import DataKeysContract

Try = Callable[..., None]


class Careless(Data):
    """Knows no erased data key."""

    def is_erased(self, sealed_with: str | None) -> bool:
        return sealed_with == "dkey_none"


class Unfenced(MemoryStore):
    """Keeps what is sealed with an erased data key."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self._data = Careless(clock)


@pytest.mark.parametrize(
    "name",
    [
        "test_nothing_is_accepted_that_is_sealed_with_an_erased_key",
        "test_an_attempt_whose_key_was_erased_is_saved_without_its_response",
        "test_deliveries_whose_payload_was_erased_are_discarded",
        "test_erased_messages_are_not_replayed",
    ],
)
def test_a_store_without_a_fence_is_noticed(try_on: Try, name: str) -> None:
    try_on(DataKeysContract, name)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        try_on(DataKeysContract, name, Unfenced)

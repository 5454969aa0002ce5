"""The topic `keys` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.store.memory import ingest
from tarry.testing.store_contract.keys import KeysContract

Try = Callable[..., None]


def test_a_store_that_knows_no_keys_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(KeysContract, "test_a_known_key_answers_with_the_first_message")
    monkeypatch.setattr(ingest.MemoryIngest, "_duplicate", lambda *_: None)
    with pytest.raises(AssertionError):
        try_on(KeysContract, "test_a_known_key_answers_with_the_first_message")

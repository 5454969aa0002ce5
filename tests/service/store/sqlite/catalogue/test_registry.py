"""Data of the API survives in the file, and all processes that have it open share it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tarry.service.model.claim import ClaimEnd
from tarry.service.store.kinds import EventTypes
from tarry.service.store.sqlite.store import SqliteStore, open_sqlite
from tarry.testing.samples import ENVIRONMENT, NOON, a_claim, a_key, an_event_type

pytestmark = pytest.mark.anyio


async def test_what_was_answered_is_there_after_the_file_was_opened_anew(path: Path) -> None:
    store = await open_sqlite(path)
    claim = await store.claim(a_claim("first"), now=NOON)
    answered = replace(claim, status=201, body=b"done")
    await store.end_claim(answered, ClaimEnd.ANSWERED)
    key, event_type = a_key(), an_event_type("a")
    await store.create(key)
    await store.create(event_type)
    await store.close()
    again = await open_sqlite(path, migrate=False)
    assert await again.claim(a_claim("second"), now=NOON + 99) == answered
    assert await again.key(key.hash) == key
    assert await again.get(EventTypes(ENVIRONMENT), "a") == event_type
    await again.close()


async def test_another_process_waits_for_the_holder(store: SqliteStore, other: SqliteStore) -> None:
    first = await store.claim(a_claim("first"), now=NOON)
    assert await other.claim(a_claim("second"), now=NOON) == first
    await other.end_claim(a_claim("second"), ClaimEnd.RELEASED)
    assert await store.claim(a_claim("third"), now=NOON) == first

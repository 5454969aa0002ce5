"""Claims are atomic between transactions that are under way at the same time."""

import asyncio

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest
from msgspec.structs import replace

from tarry.errors import StoreError
from tarry.service.model.claim import ClaimEnd
from tarry.service.store.postgres.catalogue import registry
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import ENVIRONMENT, NOON, a_claim, a_key, an_event_type
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("ending", "holder"), [("COMMIT", "first"), ("ROLLBACK", "second")])
async def test_who_comes_second_waits_for_the_first_ones_commit(
    store: PostgresStore, tarry_url: str, ending: str, holder: str
) -> None:
    connection = await asyncpg.connect(tarry_url)
    await connection.execute("BEGIN")
    first = (ENVIRONMENT, "order-1", b"\x00\xff", NOON, "first", NOON + 10, NOON)
    assert await connection.fetch(SQL["claim"], *first)
    second = asyncio.create_task(store.claim(a_claim("second"), now=NOON))
    await someone_waits(tarry_url)
    await connection.execute(ending)
    assert (await second).holder == holder
    await connection.close()


@pytest.mark.parametrize("answered", [False, True])
async def test_who_finds_a_claim_taken_writes_and_locks_nothing(
    store: PostgresStore, tarry_url: str, *, answered: bool
) -> None:
    claim = await store.claim(a_claim("first"), now=NOON)
    if answered:
        await store.end_claim(replace(claim, status=201), ClaimEnd.ANSWERED)
    connection = await asyncpg.connect(tarry_url)
    before = await connection.fetchrow("SELECT ctid, xmin, xmax FROM tarry.claim")
    await store.claim(a_claim("second"), now=NOON)
    assert await connection.fetchrow("SELECT ctid, xmin, xmax FROM tarry.claim") == before
    await connection.close()


async def test_a_claim_that_is_let_go_while_another_looks_is_the_others(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.claim(a_claim("first"), now=NOON)
    deletion = "DELETE FROM tarry.claim WHERE environment = $1 AND key = $2"
    monkeypatch.setattr(registry, "SQL", {**SQL, "claim_known": deletion})
    assert (await store.claim(a_claim("second"), now=NOON)).holder == "second"


async def test_text_with_nul_is_refused_before_the_database_is_asked(store: PostgresStore) -> None:
    for call in (
        store.claim(a_claim("first", key="a\0"), now=NOON),
        store.create(a_key(name="a\0")),
        store.create(an_event_type("a", description="\0")),
        store.create(an_event_type("a", feature_flags=("\0",))),
    ):
        with pytest.raises(StoreError, match="NUL"):
            await call

import time

import pytest
from msgspec.structs import replace

from tarry.cli.doctor import backlog as module
from tarry.cli.doctor.backlog import backlog
from tarry.cli.doctor.finding import Finding, State
from tarry.service import Hooks, open_hooks
from tarry.service.explain import OVERDUE
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import LaneRow
from tarry.service.store.kinds import Gettable
from tarry.service.wire.exchange import TIMEOUT

pytestmark = pytest.mark.anyio


async def looked_at(hooks: Hooks, now: float) -> dict[str, Finding]:
    return {one.check: one for one in await backlog(hooks.store, now=now)}


async def test_what_waits_and_for_how_long_is_told() -> None:
    async with open_hooks("sqlite:///hooks.db") as hooks:
        shop = await hooks.application("shop")
        there = "https://example.com/in"
        await hooks.add_endpoint(shop, there, uid="till", standing=Standing.PAUSED)
        later = time.time() + 86_400
        await hooks.send(shop, "order.paid", {}, deliver_at=later)
        alone = await looked_at(hooks, now=time.time())
        sent = [await hooks.send(shop, "order.paid", {}) for _ in range(2)]
        found = await looked_at(hooks, now=sent[0].message.accepted_at + 7200)
    assert alone["workers"].state is State.WRONG
    assert alone["backlog"].words == "deliveries waiting: 1; endpoints: 1"
    assert found["backlog"].words == "deliveries waiting: 3, the oldest for 2 h; endpoints: 1"
    assert found["paused"].state is State.ADVICE
    assert found["paused"].words.endswith(": shop till")
    assert found["down"].state is found["parked"].state is State.OK
    assert found["success"].words == "no success so far"


async def test_what_should_have_been_sent_and_was_not_is_wrong() -> None:
    async with open_hooks("sqlite:///hooks.db") as hooks:
        shop = await hooks.application("shop")
        await hooks.add_endpoint(shop, "https://example.com/in", uid="till")
        sent = await hooks.send(shop, "order.paid", {})
        longest = OVERDUE + TIMEOUT
        soon = await looked_at(hooks, now=sent.message.accepted_at + longest - 1)
        late = await looked_at(hooks, now=sent.message.accepted_at + longest)
    assert soon["overdue"].state is State.OK
    assert late["overdue"].state is State.WRONG
    assert "shop till" in late["overdue"].words


async def test_who_delivers_is_counted() -> None:
    async with open_hooks("sqlite:///hooks.db") as hooks:
        assert (await looked_at(hooks, now=time.time()))["workers"].state is State.ADVICE
        async with hooks.dispatching():
            found = await looked_at(hooks, now=time.time())
    assert found["workers"] == ("workers", State.OK, "running: 1")


async def test_what_is_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_hooks("sqlite:///hooks.db") as hooks:
        shop = await hooks.application("shop")
        made = [await hooks.add_endpoint(shop, f"https://example.com/{n}") for n in range(4)]
        get = hooks.store.get

        async def down(kind: Gettable[object], known_as: str) -> object:
            record = await get(kind, known_as)
            if not isinstance(record, LaneRow):
                return record
            known = replace(record.known, pace=b'{"phase":"open"}', accepted_at=100.0)
            return replace(record, known=known)

        monkeypatch.setattr(hooks.store, "get", down)
        found = await looked_at(hooks, now=160.0)
    assert found["down"].words.startswith("4 down")
    assert f": shop {min(one.id for one in made)}, " in found["down"].words
    assert found["down"].words.endswith(", ...")
    assert found["success"].words == "last success 60 s ago"


async def test_only_so_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENDPOINTS", 1)
    monkeypatch.setattr(module, "ROWS_PER_READ", 1)
    async with open_hooks("sqlite:///hooks.db") as hooks:
        shop = await hooks.application("shop")
        for number in range(3):
            await hooks.add_endpoint(shop, f"https://example.com/{number}")
        found = await looked_at(hooks, now=0.0)
    assert "(only the first 1 were checked)" in found["backlog"].words


async def test_an_empty_database_has_no_success_to_tell_of() -> None:
    async with open_hooks("sqlite:///hooks.db") as hooks:
        found = await looked_at(hooks, now=0.0)
    assert "success" not in found
    assert found["backlog"].words == "deliveries waiting: 0; endpoints: 0"

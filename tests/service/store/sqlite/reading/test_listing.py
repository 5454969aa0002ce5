"""Lists are read from the file in pieces, so that no caller waits for a long one."""

import asyncio

import pytest

from tarry.service.model.ids import MESSAGE, make
from tarry.service.model.listing import AttemptFilter, Cut, DeliveryFilter, MessageFilter
from tarry.service.store.kinds import Applications, AttemptsTo, DeliveriesTo, Messages
from tarry.service.store.paged_search import LATEST_ADD_SECONDS, Row, search_page
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.reading import listing
from tarry.service.store.sqlite.store import SqliteStore
from tarry.testing.samples import NOON, new_id, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the kind of thread that runs each job."""
    names: list[str] = []
    for name in ("browse", "survey", "write"):
        original = getattr(Threads, name)

        async def noted(
            self: Threads, work: object, name: str = name, original: object = original
        ) -> object:
            names.append(name)
            return await original(self, work)  # type: ignore[operator]  # it is a method

        monkeypatch.setattr(Threads, name, noted)
    return names


async def test_a_long_look_is_many_short_ones(
    scene: Scene, store: SqliteStore, jobs: list[str]
) -> None:
    await store.add([new_message(scene.application) for _ in range(100)])
    jobs.clear()
    cut = Cut(limit=1)
    page = await store.page(Messages(scene.application.id, MessageFilter(tag="no")), cut)
    assert page.entries == []
    assert jobs == ["browse"] * 6  # 1, 4, 16 and 64 of them, the last 15, then what was found


async def test_counting_is_for_the_thread_that_looks_through_much(
    scene: Scene, store: SqliteStore, jobs: list[str]
) -> None:
    jobs.clear()
    await store.count_deliveries(scene.endpoint, since=0.0, until=NOON)
    await store.count_attempts(scene.endpoint, since=0.0, until=NOON)
    assert set(jobs) == {"survey"}


async def test_others_are_answered_while_a_long_look_goes_on(
    scene: Scene, store: SqliteStore
) -> None:
    await store.add([new_message(scene.application) for _ in range(200)])
    order: list[str] = []

    async def look() -> None:
        message_filter = MessageFilter(tag="no")
        await store.page(Messages(scene.application.id, message_filter), Cut(limit=1))
        order.append("long")

    async def short() -> None:
        await store.get(Applications(scene.application.environment), scene.application.id)
        order.append("short")

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        group.create_task(short())
    assert order == ["short", "long"]


async def test_what_came_in_long_before_is_not_looked_at(
    scene: Scene, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = NOON - 9 * LATEST_ADD_SECONDS
    for second in range(30):
        message_id = make(MESSAGE, now=early + second, entropy=bytes(19))
        await scene.add(id=message_id, accepted_at=early + second)
    new = await scene.add()
    looked: list[int] = []

    async def look(
        read_rows: object, low: int, high: int, cut: Cut
    ) -> tuple[list[Row], Row | None]:
        looked.append(low)
        return await search_page(read_rows, low, high, cut)  # type: ignore[arg-type]  # as it came

    monkeypatch.setattr(listing, "search_page", look)
    delivery_filter = DeliveryFilter(message=MessageFilter(after=NOON))
    deliveries = (
        await store.page(DeliveriesTo(scene.endpoint, delivery_filter), Cut(descending=True))
    ).entries
    assert [message for message, _ in deliveries] == [new]
    assert looked == [30]


async def test_nothing_is_found_of_an_endpoint_that_has_nothing(
    scene: Scene, store: SqliteStore
) -> None:
    for back in (False, True):
        cut = Cut(mark=new_id(MESSAGE), back=back)
        assert (await store.page(DeliveriesTo(scene.endpoint, DeliveryFilter()), cut)).entries == []
        assert (await store.page(AttemptsTo(scene.endpoint, AttemptFilter()), cut)).entries == []

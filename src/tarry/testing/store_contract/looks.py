"""Search limits: a page examines a limited number of entries, and the next page continues there."""

from collections.abc import Awaitable, Callable
from itertools import product
from typing import TypeVar

from msgspec.structs import replace

from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Stream
from tarry.service.model.listing import AttemptFilter, Cut, DeliveryFilter, Found, MessageFilter
from tarry.service.model.message import Message
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import AttemptsOf, AttemptsTo, DeliveriesTo, Messages
from tarry.testing.samples import NOON, delivered, failed, new_message, postponed
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic

MESSAGE_COUNT = 17
RARE = MessageFilter(tag="rare")

Thing = TypeVar("Thing")


class LooksContract(Topic):
    """Lists in which few entries fit the filter."""

    async def test_matching_messages_are_found_page_by_page(self, scene: Scene) -> None:
        messages = await _messages(scene)

        async def read_page(cut: Cut) -> Found[Message]:
            return await scene.store.page(Messages(scene.application.id, RARE), cut)

        matching = [message for message in messages if message.tags]
        await _check(
            read_page, matching, lambda message: message.id, [message.id for message in messages]
        )

    async def test_matching_deliveries_are_found_page_by_page(self, scene: Scene) -> None:
        messages = await _messages(scene)

        async def read_page(cut: Cut) -> Found[tuple[Message, Delivery]]:
            delivery_filter = DeliveryFilter(message=RARE)
            return await scene.store.page(DeliveriesTo(scene.endpoint, delivery_filter), cut)

        matching = [
            (message, await scene.delivery(message)) for message in messages if message.tags
        ]
        await _check(
            read_page, matching, lambda pair: pair[0].id, [message.id for message in messages]
        )

    async def test_matching_undelivered_ones_are_found_page_by_page(self, scene: Scene) -> None:
        messages = await _messages(scene)
        due = await scene.due()
        await scene.settle(*map(failed, due[::2]), *map(delivered, due[1::2]))

        async def read_page(cut: Cut) -> Found[tuple[Message, Delivery]]:
            delivery_filter = DeliveryFilter(message=RARE, states=frozenset({State.FAILED}))
            return await scene.store.page(DeliveriesTo(scene.endpoint, delivery_filter), cut)

        matching = [
            (message, await scene.delivery(message)) for message in messages[::2] if message.tags
        ]
        await _check(read_page, matching, lambda pair: pair[0].id)

    async def test_matching_attempts_to_an_endpoint_are_found_page_by_page(
        self, scene: Scene
    ) -> None:
        messages = {message.id: message for message in await _messages(scene)}
        await scene.settle(*map(delivered, await scene.due()))
        attempts = await scene.attempts_to()

        async def read_page(cut: Cut) -> Found[tuple[Attempt, Message]]:
            attempt_filter = AttemptFilter(message=RARE)
            return await scene.store.page(AttemptsTo(scene.endpoint, attempt_filter), cut)

        matching = [
            (attempt, replace(messages[attempt.message], payload=None))
            for attempt in attempts
            if messages[attempt.message].tags
        ]
        await _check(
            read_page, matching, lambda pair: pair[0].id, [attempt.id for attempt in attempts]
        )

    async def test_matching_attempts_of_a_message_are_found_page_by_page(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        await scene.settle(postponed(due, NOON))
        for _ in range(5):
            (due,) = await scene.due(Stream.WAITING)
            await scene.settle(postponed(due, NOON))
        (due,) = await scene.due(Stream.WAITING)
        await scene.settle(delivered(due))
        attempts = await scene.attempts_to()

        async def read_page(cut: Cut) -> Found[tuple[Attempt, Endpoint]]:
            return await scene.store.page(
                AttemptsOf(message.id, AttemptFilter(succeeded=True)), cut
            )

        matching = [(attempt, scene.endpoint) for attempt in attempts if attempt.kind is None]
        assert len(matching) == 1
        await _check(
            read_page, matching, lambda pair: pair[0].id, [attempt.id for attempt in attempts]
        )

    async def test_one_may_go_on_from_an_entry_that_is_gone_by_then(self, scene: Scene) -> None:
        old = [await scene.add(accepted_at=NOON - 100) for _ in range(3)]
        newer = await _messages(scene)
        store, application_id, endpoint = scene.store, scene.application.id, scene.endpoint
        await scene.settle(*map(delivered, await scene.due()))
        messages = await store.page(Messages(application_id, RARE), Cut(look=2))
        assert messages == Found([], old[1].id)
        deliveries = await store.page(
            DeliveriesTo(endpoint, DeliveryFilter(message=RARE)), Cut(look=2)
        )
        assert deliveries == Found([], old[1].id)
        while await store.sweep(Retention(messages_before=NOON - 50), limit=10):
            pass
        cut = Cut(mark=old[1].id)
        matching = [message for message in newer if message.tags]
        assert await store.page(Messages(application_id, RARE), cut) == Found(matching)
        rest = await store.page(DeliveriesTo(endpoint, DeliveryFilter(message=RARE)), cut)
        assert [message for message, _ in rest.entries] == matching

    async def test_a_page_ends_before_its_payloads_have_too_many_bytes(self, scene: Scene) -> None:
        sizes = [1000, 1000, 500, 4000, 1, 2499, 2500]
        batch = [new_message(scene.application, payload=b"1" * size) for size in sizes]
        await scene.store.add(batch)
        numbers = {new.message.id: number for number, new in enumerate(batch)}

        async def messages(cut: Cut) -> Found[int]:
            page = await scene.store.page(Messages(scene.application.id), cut)
            return Found([numbers[message.id] for message in page.entries], page.left_at)

        async def deliveries(cut: Cut) -> Found[int]:
            page = await scene.store.page(DeliveriesTo(scene.endpoint), cut)
            return Found([numbers[message.id] for message, _ in page.entries], page.left_at)

        for read_page, descending, back in product(
            (messages, deliveries), (False, True), (False, True)
        ):
            cut = Cut(limit=100, back=back, descending=descending, most_bytes=2500)
            pages = await _pages(read_page, cut, lambda number: batch[number].message.id)
            upwards = [[0, 1, 2], [3], [4, 5], [6]]
            in_order = upwards if cut.upwards else [[6], [5, 4], [3], [2, 1, 0]]
            assert [page.entries[::-1] if back else page.entries for page in pages] == in_order


async def _messages(scene: Scene) -> list[Message]:
    """Add messages; only a few of them fit the filter."""
    batch = [
        new_message(scene.application, tags=("rare",) if index in {4, 12, 13} else ())
        for index in range(MESSAGE_COUNT)
    ]
    await scene.store.add(batch)
    return [new.message for new in batch]


async def _check(
    read_page: Callable[[Cut], Awaitable[Found[Thing]]],
    expected: list[Thing],
    mark: Callable[[Thing], str],
    all_marks: list[str] | None = None,
) -> None:
    """Check that the pages contain each hit once, for all directions and search limits.

    `all_marks` are the marks of all entries that must be examined.
    """
    for descending, back, limit, look in product(
        (False, True), (False, True), (1, 2, 100), (1, 2, 3, 5, MESSAGE_COUNT + 1, 1000)
    ):
        cut = Cut(limit=limit, back=back, descending=descending, look=look)
        pages = await _pages(read_page, cut, mark)
        entries = [entry for page in (pages[::-1] if back else pages) for entry in page.entries]
        assert entries == (expected[::-1] if descending else expected)
        stops = [page.left_at for page in pages if page.left_at is not None]
        assert len(stops) <= MESSAGE_COUNT // look, "a page stopped before its search limit"
        if all_marks is not None and limit > MESSAGE_COUNT:
            in_order = all_marks if cut.upwards else all_marks[::-1]
            assert stops == in_order[look - 1 :: look], "the search stopped too early or too late"


async def _pages(
    read_page: Callable[[Cut], Awaitable[Found[Thing]]], cut: Cut, mark: Callable[[Thing], str]
) -> list[Found[Thing]]:
    """Return all pages, in the order in which they were requested."""
    pages: list[Found[Thing]] = []
    while True:
        page = await read_page(cut)
        pages.append(page)
        is_full = len(page.entries) == cut.limit
        assert not (is_full and page.left_at), "a full page must not say where the search stopped"
        if not is_full and page.left_at is None:
            return pages
        last = mark(page.entries[0 if cut.back else -1]) if is_full else page.left_at
        assert last, "nothing says where the next page starts"
        assert last != cut.mark, "the next page starts where this one did"
        cut = replace(cut, mark=last)

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

MANY = 17
RARE = MessageFilter(tag="rare")

Thing = TypeVar("Thing")


class LooksContract(Topic):
    """Lists in which few entries fit the filter."""

    async def test_what_is_wanted_of_messages_is_found_look_by_look(self, scene: Scene) -> None:
        made = await _messages(scene)

        async def ask(cut: Cut) -> Found[Message]:
            return await scene.store.page(Messages(scene.application.id, RARE), cut)

        rare = [one for one in made if one.tags]
        await _check(ask, rare, lambda one: one.id, [one.id for one in made])

    async def test_what_is_wanted_of_deliveries_is_found_look_by_look(self, scene: Scene) -> None:
        made = await _messages(scene)

        async def ask(cut: Cut) -> Found[tuple[Message, Delivery]]:
            wanted = DeliveryFilter(message=RARE)
            return await scene.store.page(DeliveriesTo(scene.endpoint, wanted), cut)

        rare = [(one, await scene.delivery(one)) for one in made if one.tags]
        await _check(ask, rare, lambda pair: pair[0].id, [one.id for one in made])

    async def test_what_is_wanted_of_undelivered_ones_is_found_look_by_look(
        self, scene: Scene
    ) -> None:
        made = await _messages(scene)
        due = await scene.due()
        await scene.settle(*map(failed, due[::2]), *map(delivered, due[1::2]))

        async def ask(cut: Cut) -> Found[tuple[Message, Delivery]]:
            wanted = DeliveryFilter(message=RARE, states=frozenset({State.FAILED}))
            return await scene.store.page(DeliveriesTo(scene.endpoint, wanted), cut)

        rare = [(one, await scene.delivery(one)) for one in made[::2] if one.tags]
        await _check(ask, rare, lambda pair: pair[0].id)

    async def test_what_is_wanted_of_attempts_to_an_endpoint_is_found_look_by_look(
        self, scene: Scene
    ) -> None:
        made = {one.id: one for one in await _messages(scene)}
        await scene.settle(*map(delivered, await scene.due()))
        attempts = await scene.attempts_to()

        async def ask(cut: Cut) -> Found[tuple[Attempt, Message]]:
            wanted = AttemptFilter(message=RARE)
            return await scene.store.page(AttemptsTo(scene.endpoint, wanted), cut)

        rare = [(one, made[one.message]) for one in attempts if made[one.message].tags]
        await _check(ask, rare, lambda pair: pair[0].id, [one.id for one in attempts])

    async def test_what_is_wanted_of_attempts_at_a_message_is_found_look_by_look(
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

        async def ask(cut: Cut) -> Found[tuple[Attempt, Endpoint]]:
            return await scene.store.page(
                AttemptsOf(message.id, AttemptFilter(succeeded=True)), cut
            )

        rare = [(one, scene.endpoint) for one in attempts if one.kind is None]
        assert len(rare) == 1
        await _check(ask, rare, lambda pair: pair[0].id, [one.id for one in attempts])

    async def test_one_may_go_on_from_an_entry_that_is_gone_by_then(self, scene: Scene) -> None:
        old = [await scene.add(accepted_at=NOON - 100) for _ in range(3)]
        made = await _messages(scene)
        store, known, there = scene.store, scene.application.id, scene.endpoint
        await scene.settle(*map(delivered, await scene.due()))
        messages = await store.page(Messages(known, RARE), Cut(look=2))
        assert messages == Found([], old[1].id)
        deliveries = await store.page(
            DeliveriesTo(there, DeliveryFilter(message=RARE)), Cut(look=2)
        )
        assert deliveries == Found([], old[1].id)
        while await store.sweep(Retention(messages_before=NOON - 50), limit=10):
            pass
        cut = Cut(mark=old[1].id)
        rare = [one for one in made if one.tags]
        assert await store.page(Messages(known, RARE), cut) == Found(rare)
        rest = await store.page(DeliveriesTo(there, DeliveryFilter(message=RARE)), cut)
        assert [message for message, _ in rest.entries] == rare


async def _messages(scene: Scene) -> list[Message]:
    """Add messages; only a few of them fit the filter."""
    new = [
        new_message(scene.application, tags=("rare",) if place in {4, 12, 13} else ())
        for place in range(MANY)
    ]
    await scene.store.add(new)
    return [one.message for one in new]


async def _check(
    ask: Callable[[Cut], Awaitable[Found[Thing]]],
    wanted: list[Thing],
    mark: Callable[[Thing], str],
    all_of_them: list[str] | None = None,
) -> None:
    """Check that the pages contain each hit once, for all directions and search limits.

    `all_of_them` are the marks of all entries that must be examined.
    """
    for descending, back, limit, look in product(
        (False, True), (False, True), (1, 2, 100), (1, 2, 3, 5, MANY + 1, 1000)
    ):
        cut = Cut(limit=limit, back=back, descending=descending, look=look)
        pages = await _pages(ask, cut, mark)
        found = [one for page in (pages[::-1] if back else pages) for one in page.entries]
        assert found == (wanted[::-1] if descending else wanted)
        left = [page.left_at for page in pages if page.left_at is not None]
        assert len(left) <= MANY // look, "fewer were looked at than may be"
        if all_of_them is not None and limit > MANY:
            way = all_of_them if cut.upwards else all_of_them[::-1]
            assert left == way[look - 1 :: look], "it was left too early or too late"


async def _pages(
    ask: Callable[[Cut], Awaitable[Found[Thing]]], cut: Cut, mark: Callable[[Thing], str]
) -> list[Found[Thing]]:
    """Return all pages, in the order in which they were requested."""
    pages: list[Found[Thing]] = []
    while True:
        page = await ask(cut)
        pages.append(page)
        full = len(page.entries) == cut.limit
        assert not (full and page.left_at), "there was enough, and it was left all the same"
        if not full and page.left_at is None:
            return pages
        last = mark(page.entries[0 if cut.back else -1]) if full else page.left_at
        assert last, "there is nowhere to go on from"
        assert last != cut.mark, "it does not move on"
        cut = replace(cut, mark=last)

"""Calls that do nothing in the memory store, and how a delivery ends in it."""

import asyncio

from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.store.memory import MemoryStore
from tarry.service.store.memory.queue import ended


def test_there_is_nothing_to_collect() -> None:
    assert asyncio.run(MemoryStore().collect(now=5.0, limit=10)) == 0


def test_what_ended_waits_for_no_time() -> None:
    waiting = Delivery(
        lane=1, seq=1, message="msg_1", state=State.WAITING, due_at=9.0, tries=2, accepted_at=1.0
    )
    delivery = ended(waiting, State.FAILED, Reason.AGED, 5.0)
    assert (delivery.state, delivery.reason) == (State.FAILED, Reason.AGED)
    assert (delivery.due_at, delivery.ended_at, delivery.tries) == (None, 5.0, 2)

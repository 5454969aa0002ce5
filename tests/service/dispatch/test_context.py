"""What lanes share: clocks, ids, notices and limits."""

from collections.abc import Callable

import pytest

from tarry.service.dispatch.clock import Timer
from tarry.service.dispatch.context import Context, Counters
from tarry.service.model import ids
from tarry.service.model.audit import ActorKind
from tarry.service.model.lane import Notice
from tarry.service.model.settings import Limits, Parking
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import NOON


class Nobody:
    """Makes no attempt."""

    def send(self, request: Request, done: Callable[[Answer], None]) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


def never(_seconds: float, _then: Callable[[], None]) -> Timer:
    raise NotImplementedError


def a_context(step: float = 0.0, **limits: int) -> Context:
    return Context(
        now=lambda: NOON,
        wall=lambda now: now + step,
        later=never,
        draw=lambda: 0.5,
        sender=Nobody(),
        limits=Limits(**limits),
        parking=Parking(),
    )


@pytest.mark.parametrize(("step", "earlier"), [(-5.0, NOON - 5), (0.0, NOON), (5.0, NOON)])
def test_ages_are_reckoned_with_the_earlier_clock(step: float, earlier: float) -> None:
    assert a_context(step).earlier(NOON) == earlier


def test_memory_is_full_when_payloads_take_what_the_limits_allow() -> None:
    context = a_context(buffered_bytes=10)
    context.buffered.bytes = 9
    assert not context.is_full()
    context.buffered.bytes = 10
    assert context.is_full()


@pytest.mark.parametrize("environment", ["org_1", "org_1/operational"])
def test_an_action_is_tarry_s_own_and_in_an_environment_that_people_see(environment: str) -> None:
    context = a_context()
    first, second = (context.action(environment, "endpoint.parked", NOON) for _ in range(2))
    assert (first.actor, first.environment, first.at) == (ActorKind.TARRY, "org_1", NOON)
    assert (first.operation, first.key, first.address) == ("endpoint.parked", None, None)
    assert first.chance != second.chance


def test_ids_are_new_each_time_and_say_what_they_are_and_when() -> None:
    context = a_context()
    made = {context.id(ids.ATTEMPT, NOON) for _ in range(100)}
    assert len(made) == 100
    assert all(one.startswith(ids.ATTEMPT) and ids.made_at(one) == NOON for one in made)


def test_a_notice_says_what_happened_to_which_endpoint() -> None:
    context = a_context()
    facts: dict[str, str | float | None] = {"share": 0.5}
    notice = context.notice("app_1", "ep_1", "endpoint.failing", NOON, facts)
    facts["share"] = 0.9
    assert notice == Notice(
        id=notice.id,
        application="app_1",
        endpoint="ep_1",
        kind="endpoint.failing",
        facts={"share": 0.5},
        at=NOON,
    )
    assert notice.id.startswith(ids.NOTICE)


def test_there_are_as_many_slots_as_the_limits_say() -> None:
    context = a_context(in_flight=12, unsettled=30)
    assert (context.slots.free, context.unwritten.free) == (12, 42)


def test_each_event_is_counted_once_where_it_belongs() -> None:
    counters = Counters()
    counters.count_sent(probe=False)
    counters.count_sent(probe=True)
    counters.count_delivered()
    counters.count_failed()
    counters.count_failed(3)
    counters.count_stale()
    counters.count_stalled()
    counters.count_unwritable()
    assert (counters.sent, counters.probes) == (2, 1)
    assert (counters.delivered, counters.failed) == (1, 4)
    assert (counters.stale, counters.stalled, counters.unwritable) == (1, 1, 1)

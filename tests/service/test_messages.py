"""What may be told of a message, what is refused, and what it is known by."""

import math
import time
from pathlib import Path
from typing import Any

import pytest

from tarry.errors import BacklogFull, Conflict, DiskNearlyFull, SettingsError
from tarry.service import Hooks, open_hooks
from tarry.service.model.application import Application
from tarry.service.model.delivery import Reason, State
from tarry.service.model.message import Accepted, NewMessage

pytestmark = pytest.mark.anyio

ELSEWHERE = "https://example.com/hook"


async def test_it_goes_to_whoever_wants_it(hooks: Hooks, shop: Application) -> None:
    await hooks.add_endpoint(shop, ELSEWHERE, uid="paid", event_types=["order.paid"])
    await hooks.add_endpoint(shop, ELSEWHERE, uid="eu", channels=["eu"])
    await hooks.add_endpoint(shop, ELSEWHERE, uid="all")
    accepted = await hooks.send(shop, "order.shipped", {}, channels=["eu"])
    found = await hooks.deliveries(accepted.message)
    assert {endpoint.uid for endpoint, _ in found} == {"eu", "all"}


async def test_with_a_key_a_message_is_accepted_once(hooks: Hooks, shop: Application) -> None:
    first = await hooks.send(shop, "order.paid", {"n": 1}, key="k")
    again = await hooks.send(shop, "order.paid", {"n": 1}, key="k")
    assert (first.repeated, again.repeated) == (False, True)
    assert again.message.id == first.message.id
    with pytest.raises(Conflict):
        await hooks.send(shop, "order.paid", {"n": 2}, key="k")


@pytest.mark.parametrize(
    "other",
    [
        {"event_id": "e"},
        {"channels": ["eu"]},
        {"tags": ["a"]},
        {"deliver_at": 9e9},
        {"payload_until": 9e9},
        {"content_type": "text/plain"},
        {"event_type": "order.sent"},
    ],
)
async def test_a_key_stands_for_all_that_was_told(
    hooks: Hooks, shop: Application, other: dict[str, Any]
) -> None:
    plain: dict[str, Any] = {"event_type": "order.paid", "payload": {}, "key": "k"}
    await hooks.send(shop, **plain)
    with pytest.raises(Conflict):
        await hooks.send(shop, **{**plain, **other})
    assert (await hooks.send(shop, **plain)).repeated


async def test_a_type_that_would_break_the_request_is_refused(
    hooks: Hooks, shop: Application
) -> None:
    with pytest.raises(SettingsError, match="content-type"):
        await hooks.send(shop, "order.paid", b"x", content_type="a\r\nb: c")


@pytest.mark.parametrize("deliver_at", [math.nan, math.inf])
async def test_a_time_that_never_comes_is_refused(
    hooks: Hooks, shop: Application, deliver_at: float
) -> None:
    with pytest.raises(SettingsError, match="deliver_at"):
        await hooks.send(shop, "order.paid", {}, deliver_at=deliver_at)


@pytest.mark.parametrize(
    ("field", "value"),
    [("event_type", ""), ("event_type", 7), ("event_id", "x" * 257), ("key", ""), ("key", "a\0b")],
)
async def test_what_a_message_goes_by_is_text_that_any_store_keeps(
    hooks: Hooks,
    shop: Application,
    field: str,
    value: Any,  # noqa: ANN401  wrong ones
) -> None:
    told = {"event_type": "order.paid", "payload": {}, field: value}
    with pytest.raises(SettingsError, match=field):
        await hooks.send(shop, **told)
    with pytest.raises(SettingsError, match="uid"):
        await hooks.application(value)


@pytest.mark.parametrize("payload", [b"{}", bytearray(b"{}"), memoryview(b"{}")])
async def test_bytes_of_any_kind_are_sent_as_they_are(
    hooks: Hooks, shop: Application, payload: object
) -> None:
    accepted = await hooks.send(shop, "order.paid", payload)
    assert accepted.message.payload == b"{}"


async def test_one_text_is_no_list_of_texts(hooks: Hooks, shop: Application) -> None:
    with pytest.raises(SettingsError, match="channels"):
        await hooks.send(shop, "order.paid", {}, channels="eu")


async def test_too_much_that_waits_is_refused(hooks: Hooks) -> None:
    small = await hooks.application("small", most_waiting=1)
    await hooks.add_endpoint(small, ELSEWHERE)
    await hooks.send(small, "order.paid", {})
    with pytest.raises(BacklogFull):
        await hooks.send(small, "order.paid", {})


async def test_what_a_disk_that_is_nearly_full_cannot_take_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:////{str(tmp_path / 'hooks.db').lstrip('/')}"
    async with open_hooks(url, disk_reserve=10**18) as hooks:
        shop = await hooks.application("shop")
        with pytest.raises(DiskNearlyFull, match="nothing was accepted") as refused:
            await hooks.send(shop, "order.paid", {})
        assert refused.value.reserve == 10**18


async def test_of_many_each_has_an_answer_of_its_own(hooks: Hooks, shop: Application) -> None:
    good = hooks.message(shop, "order.paid", {}, event_id="e")
    same = hooks.message(shop, "order.paid", {}, event_id="e")
    answers = await hooks.send_many([NewMessage(good), NewMessage(same)])
    assert [type(answer) for answer in answers] == [Accepted, Conflict]


async def test_one_that_is_to_go_later_waits_until_then(hooks: Hooks, shop: Application) -> None:
    await hooks.add_endpoint(shop, ELSEWHERE)
    at = time.time() + 3600
    accepted = await hooks.send(shop, "order.paid", {}, deliver_at=at)
    ((endpoint, delivery),) = await hooks.deliveries(accepted.message)
    assert (delivery.state, delivery.due_at) == (State.WAITING, at)
    told = await hooks.explain(accepted.message, endpoint)
    assert told.reason is Reason.SCHEDULED


async def test_what_was_cancelled_is_not_sent(hooks: Hooks, shop: Application) -> None:
    await hooks.add_endpoint(shop, ELSEWHERE)
    accepted = await hooks.send(shop, "order.paid", {})
    assert await hooks.cancel(accepted.message) == 1
    ((_, delivery),) = await hooks.deliveries(accepted.message)
    assert delivery.state is State.CANCELLED
    assert await hooks.cancel(accepted.message) == 0

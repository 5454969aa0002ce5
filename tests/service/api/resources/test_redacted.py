import asyncio
import threading

import pytest

from tarry.service.api.resources.redacted import QUICK_BYTES, redacted
from tarry.service.model.redaction import Redaction
from tests.service.api.conftest import Live

pytestmark = pytest.mark.anyio
PIN = Redaction.of(["$.pin"])


async def test_a_body_is_shown_as_it_is_if_no_rule_is_about_bodies() -> None:
    body = b'{"pin": 1'
    assert await redacted(Redaction.of(["header:pin"]), body) is body


@pytest.mark.parametrize("size", [0, QUICK_BYTES + 1])
async def test_a_body_is_redacted_whatever_its_size(size: int) -> None:
    text = b"x" * size
    assert await redacted(PIN, b'{"pin": 1, "a": "%s"}' % text) == (
        b'{"pin": "[redacted]", "a": "%s"}' % text
    )


@pytest.mark.parametrize("size", [0, QUICK_BYTES + 1])
async def test_others_are_served_meanwhile_and_a_large_body_is_searched_in_a_thread(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, threads = asyncio.Event(), list[threading.Thread]()
    redact = Redaction.redact

    def seen(self: Redaction, body: bytes) -> bytes:
        threads.append(threading.current_thread())
        return redact(self, body)

    monkeypatch.setattr(Redaction, "redact", seen)
    asyncio.get_running_loop().call_soon(served.set)
    await redacted(PIN, b'"%s"' % (b"x" * size))
    assert served.is_set()
    assert (threads == [threading.current_thread()]) is (size == 0)


async def test_what_is_delivered_again_is_what_was_sent(live: Live) -> None:
    live.hooks.redaction = Redaction.of(["$.pin", "header:x-customer"])
    shop = await live.hooks.application("shop")
    headers = {"X-Customer": "7"}
    await live.hooks.add_endpoint(shop, live.receiver.url, uid="till", headers=headers)
    payload = '{"pin" : "1234", "pin":1.0}'
    sent = await live.client.post(
        "/api/v1/app/shop/msg", content=f'{{"eventType": "paid", "payload": {payload}}}'
    )
    assert '"payload":{"pin" : "[redacted]", "pin":"[redacted]"}' in sent.text
    await live.arrived(1)
    path = f"/api/v1/app/shop/msg/{sent.json()['id']}/endpoint/till/resend"
    assert (await live.client.post(path)).status_code == 202
    arrivals = await live.arrived(2)
    assert [arrival.body for arrival in arrivals] == [payload.encode()] * 2
    assert all(arrival.header("x-customer") == "7" for arrival in arrivals)

"""Messages of an application whose sealing key is lost: all but sending works."""

from pathlib import Path

import httpx
import pytest

from tarry.service import open_hooks
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.wire.seal import generate_key
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio


async def test_messages_that_cannot_be_opened_are_listed_cancelled_and_expunged(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    db, lost, new = f"sqlite:////{str(path).lstrip('/')}", generate_key("lost"), generate_key("new")
    async with open_hooks(db, seal_payloads=True, sealing_keys=lost) as hooks:
        shop = await hooks.application("shop")
        message = (await hooks.send(shop, "order.paid", {"card": "4000"})).message
    async with open_hooks(db, seal_payloads=True, sealing_keys=f"{new} {lost}") as hooks:
        await hooks.send(await hooks.application("another"), "order.paid", {})
    async with (
        open_hooks(db, seal_payloads=True, sealing_keys=new) as hooks,
        serving(await make_api(hooks, "key"), "127.0.0.1:0") as url,
        httpx.AsyncClient(
            base_url=f"{url}/api/v1/app/shop", headers={"authorization": "Bearer key"}, **PLAIN
        ) as client,
    ):
        (listed,) = (await client.get("/msg")).json()["data"]
        assert (listed["id"], listed["payload"]) == (message.id, {"expired": True})
        assert (await client.get(f"/msg/{message.id}")).json() == listed
        assert (await client.post(f"/msg/{message.id}/cancel")).status_code == 200
        assert (await client.delete(f"/msg/{message.id}/content")).status_code == 204
        assert f"the payload of message {message.id} cannot be opened" in caplog.text
        answer = await client.post("/msg", json={"eventType": "order.paid", "payload": {}})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert "'lost'" not in answer.text
        assert f"the data key of {shop.id} cannot be opened" in caplog.text

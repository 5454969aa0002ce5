"""Takes the pictures of the dashboard in the docs: `.venv/bin/python -m tests.browser.pictures`.

They show an outage: an endpoint fails, and its new messages wait.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tarry.testing.receiver import Receiver
from tests.browser.chromium import chromium
from tests.browser.visit import Visit, visiting

HERE = Path(__file__).parents[2] / "docs" / "pictures"
PICTURES = ("dashboard-endpoint.png", "dashboard-message.png")
WIDE, HIGH = 1040, 660


async def take(folder: Path = HERE) -> None:
    """Take them all."""
    with TemporaryDirectory() as place, Receiver() as broken:
        async with chromium() as browser, visiting(Path(place), browser) as visit:
            endpoints = await _outage(visit, broken)
            await visit.page.set_viewport_size({"width": WIDE, "height": HIGH})
            await visit.sign_in()
            await visit.sees("Waiting deliveries")
            await visit.go(f"#/app/acme/endpoint/{endpoints['billing']}")
            await visit.sees("Next probe")
            await visit.page.screenshot(path=folder / PICTURES[0])
            await visit.go("#/app/acme/msg/order-18")
            await visit.sees("Waiting: endpoint down.")
            await visit.page.screenshot(path=folder / PICTURES[1])


async def _outage(visit: Visit, broken: Receiver) -> Mapping[str, str]:
    """A customer with two endpoints, of which one is down; their ids."""
    await visit.post("/app", {"name": "Acme Ltd", "uid": "acme"})
    endpoints = {}
    for name, receiver in (("orders", visit.receiver), ("billing", broken)):
        url = receiver.url.replace("/hook", f"/{name}")
        made = await visit.post("/app/acme/endpoint", {"url": url, "uid": name})
        endpoints[name] = str(made["id"])
    for number in range(40):
        if number == 16:
            broken.go_down(503)
        order = {"order": number, "amount": 12.5, "currency": "EUR"}
        sent = {"eventType": "order.paid", "payload": order, "eventId": f"order-{number}"}
        await visit.post("/app/acme/msg", sent)
        await asyncio.sleep(0.4)
    return endpoints


if __name__ == "__main__":
    asyncio.run(take())

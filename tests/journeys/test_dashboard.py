"""What an operator does with the dashboard, in a real browser."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.model.key import Scope
from tests.browser.visit import KEY, Visit, visiting

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def visit(tmp_path: Path, browser: Browser) -> AsyncIterator[Visit]:
    async with visiting(tmp_path, browser) as visit:
        yield visit
        assert await visit.trapped() == []


async def endpoint_of(visit: Visit, path: str = "/hook") -> str:
    """An endpoint at the receiver; its id."""
    url = visit.receiver.url.replace("/hook", path)
    made = await visit.post("/app/shop/endpoint", {"url": url})
    return str(made["id"])


async def send(visit: Visit, event_id: str) -> str:
    body = {"eventType": "order.paid", "payload": {"order": 1}, "eventId": event_id}
    return str((await visit.post("/app/shop/msg", body))["id"])


# --- Coming in ----------------------------------------------------------------------------------


async def test_a_wrong_key_is_told_apart_from_a_right_one(visit: Visit) -> None:
    await visit.sign_in("wrong")
    await visit.sees("This key is unknown, revoked or expired")
    await visit.sign_in("pasted with spaces")
    await visit.sees("A key has no spaces")
    sending, _ = await visit.hooks.make_key((Scope.SEND,))
    await visit.sign_in(sending)
    await visit.sees("a key with the scope read may")
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    assert KEY not in visit.page.url
    await visit.page.reload()
    await visit.sees("Waiting deliveries")
    await visit.press("Sign out")
    await visit.sees("stays in this tab")
    await visit.page.reload()
    await visit.sees("stays in this tab")


async def test_a_key_that_is_revoked_meanwhile_leads_back_to_the_door(visit: Visit) -> None:
    key, made = await visit.hooks.make_key((Scope.READ,))
    await visit.sign_in(key)
    await visit.sees("Waiting deliveries")
    await visit.hooks.revoke_key(made.id)
    await visit.sees("This key has expired or was revoked")


async def test_one_who_may_only_look_is_offered_nothing_else(visit: Visit) -> None:
    endpoint = await endpoint_of(visit)
    for scopes, buttons in (((Scope.READ,), 0), ((Scope.WRITE,), 3)):
        key, _ = await visit.hooks.make_key(scopes)
        await visit.begin()
        await visit.sign_in(key)
        await visit.sees("Waiting deliveries")
        await visit.go(f"#/app/shop/endpoint/{endpoint}")
        await visit.sees("No attempts yet.")
        assert await visit.page.locator("main .buttons button").count() == buttons


async def test_a_newcomer_is_told_what_to_do_next(visit: Visit) -> None:
    await visit.sign_in()
    await visit.sees("No deliveries are waiting.")
    await visit.page.get_by_role("link", name="shop").click()
    await visit.sees("tarry endpoint create shop")
    await visit.page.get_by_role("link", name="Messages").click()
    await visit.sees("tarry send shop order.paid")
    await visit.go("#/app/nobody")
    await visit.sees("There is no such application")
    await visit.go("#/app/shop/msg?page=cut-sh")
    await visit.sees("The address is not valid")
    await visit.go("#/nowhere/at/all")
    await visit.sees("This page does not exist")
    await visit.page.get_by_role("link", name="Back to the start page").click()
    await visit.sees("No deliveries are waiting.")


# --- An outage ----------------------------------------------------------------------------------


async def test_a_message_that_waits_says_why_until_the_receiver_is_fixed(visit: Visit) -> None:
    endpoint = await endpoint_of(visit)
    visit.receiver.go_down(503)
    for number in range(8):
        await send(visit, f"order-{number}")
    await visit.sign_in()
    row = visit.page.get_by_role("row").filter(has_text="down")
    await expect(row).to_contain_text("Down for")
    await expect(row).to_contain_text(
        "8 deliveries are waiting. The outage does not use up their attempts."
    )
    await visit.page.get_by_role("link", name="Undelivered").click()
    await visit.page.get_by_role("row").filter(has_text="order-7").get_by_role("link").first.click()
    await visit.sees("Waiting: endpoint down. Only probes are sent until one succeeds.")
    await visit.page.get_by_role("article").get_by_role("link").click()
    await visit.sees("Next probe")
    assert visit.page.url.endswith(f"/endpoint/{endpoint}")
    await expect(visit.page.get_by_role("img", name=re.compile("0 succeeded"))).to_be_visible()
    await visit.press("Probe now…", sure="Cancel")
    visit.receiver.come_back()
    await visit.press("Probe now…", sure="Probe now")
    await expect(visit.said()).to_contain_text("Probe requested.")
    await visit.sees("No deliveries are waiting.")
    assert len({arrival.id for arrival in visit.receiver.arrivals if arrival.status == 200}) == 8


async def test_an_endpoint_is_not_called_healthy_while_what_was_tried_last_failed(
    visit: Visit,
) -> None:
    endpoint = await endpoint_of(visit)
    await send(visit, "order-1")
    await visit.until(lambda: visit.receiver.arrivals)
    visit.receiver.go_down(503)  # one failure, which opens no lane
    await send(visit, "order-2")
    await visit.sign_in()
    await visit.page.get_by_role("link", name="shop", exact=True).click()
    row = visit.page.get_by_role("row").filter(has_text="1 delivery is waiting.")
    await expect(row.locator(".badge")).to_have_text("last attempt failed")
    await expect(row).to_contain_text("The last attempt failed")
    await row.get_by_role("link").click()
    await expect(visit.page.locator(".heading .badge")).to_have_text("last attempt failed")
    await visit.page.get_by_role("link", name="Overview").click()
    row = visit.page.get_by_role("row").filter(has_text="last attempt failed")
    await expect(row).to_contain_text("Oldest delivery: backoff.")
    visit.receiver.come_back()
    await visit.go(f"#/app/shop/endpoint/{endpoint}")
    await visit.press("Probe now…", sure="Probe now")
    await expect(visit.page.locator(".heading .badge")).to_have_text("healthy")
    assert visit.receiver.arrivals[-1].status == 200


async def test_what_is_asked_goes_away_with_the_page_it_was_asked_on(visit: Visit) -> None:
    endpoint = await endpoint_of(visit)
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    await visit.go(f"#/app/shop/endpoint/{endpoint}")
    await visit.press("Pause…")
    await expect(visit.page.get_by_role("dialog")).to_be_visible()
    await visit.page.go_back()
    await visit.sees("Waiting deliveries")
    await expect(visit.page.get_by_role("dialog")).to_have_count(0)


async def test_an_endpoint_is_paused_and_resumed(visit: Visit) -> None:
    endpoint = await endpoint_of(visit)
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    await visit.go(f"#/app/shop/endpoint/{endpoint}")
    await visit.press("Pause…", sure="Cancel")
    await visit.press("Pause…", sure="Pause")
    await expect(visit.said()).to_contain_text("Paused. Nothing is sent to this endpoint.")
    await visit.sees("Nothing is sent. New messages wait")
    message = await send(visit, "order-1")
    await visit.go(f"#/app/shop/msg/{message}")
    await visit.sees("Waiting: endpoint paused.")
    assert visit.receiver.arrivals == []
    await visit.go(f"#/app/shop/endpoint/{endpoint}")
    await visit.press("Resume…", sure="Resume")
    await visit.until(lambda: visit.receiver.arrivals)
    await expect(visit.page.locator(".heading .badge")).to_have_text("healthy")


async def test_one_that_was_disabled_is_enabled_and_gets_what_it_missed(visit: Visit) -> None:
    endpoint = await endpoint_of(visit)
    await visit.ask.patch(f"/api/v1/app/shop/endpoint/{endpoint}", json={"disabled": True})
    await send(visit, "order-1")
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    await visit.go(f"#/app/shop/endpoint/{endpoint}")
    await visit.press("Enable…", sure="Enable")
    await expect(visit.page.locator(".heading .badge")).to_have_text("healthy")
    await visit.press("Replay missing…", sure="Replay")
    await expect(visit.page.locator(".tasks")).to_contain_text("finished")
    await visit.until(lambda: visit.receiver.arrivals)


async def test_what_failed_is_recovered_and_what_arrived_is_resent(visit: Visit) -> None:
    endpoint = await endpoint_of(visit)
    visit.receiver.script([400])
    message = await send(visit, "order-1")
    await visit.sign_in()
    await visit.page.get_by_text("endpoint with failed deliveries").click()
    await visit.sees("The endpoint refused this message permanently.")
    await visit.go(f"#/app/shop/endpoint/{endpoint}")
    await visit.press("Recover…", sure="Recover")
    await expect(visit.said()).to_contain_text("Recovery started.")
    await expect(visit.page.locator(".tasks")).to_contain_text("finished")
    await visit.go(f"#/app/shop/msg/{message}")
    await visit.sees("Delivered.")
    await visit.press("Resend…", sure="Resend")
    await visit.sees("200, manual")
    assert [arrival.status for arrival in visit.receiver.arrivals] == [400, 200, 200]


async def test_the_page_says_that_the_server_is_gone_and_goes_on_when_it_is_back(
    visit: Visit,
) -> None:
    await visit.sign_in()
    await visit.sees("No deliveries are waiting.")
    await visit.page.route("**/api/**", lambda route: route.abort())
    await visit.sees("the server does not respond")
    await expect(visit.page.locator("#updated")).to_have_class("stale")
    await visit.sees("No deliveries are waiting.")  # what was known stays
    await visit.page.unroute("**/api/**")
    await expect(visit.page.locator("#problem")).to_be_empty()


async def test_who_comes_while_the_server_is_away_keeps_the_key_and_gets_in_when_it_is_back(
    visit: Visit,
) -> None:
    await visit.sign_in()
    await visit.sees("No deliveries are waiting.")
    await visit.page.route("**/api/**", lambda route: route.fulfill(status=502))
    await visit.page.reload()
    await visit.sees("the server responded with 502")
    await visit.page.unroute("**/api/**")
    await visit.sees("No deliveries are waiting.")


async def test_a_key_that_may_ask_seldom_shows_a_page_all_the_same(visit: Visit) -> None:
    for number in range(10):
        await endpoint_of(visit, f"/hook-{number}")
    slowly = await make_api(visit.hooks, KEY, key_rate=4)
    async with serving(slowly, "127.0.0.1:0") as url:
        visit.url = url
        await visit.sign_in()
        await visit.page.get_by_role("link", name="shop").click()
        await expect(visit.page.locator("tbody tr")).to_have_count(10)


async def test_what_cannot_be_recovered_is_told_with_the_reason(visit: Visit) -> None:
    endpoint = await endpoint_of(visit)
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    await visit.go(f"#/app/shop/endpoint/{endpoint}")
    await visit.press("Recover…")
    dialog = visit.page.get_by_role("dialog")
    await dialog.get_by_label("Messages from").select_option("a date and time …")
    await dialog.get_by_label("Date and time", exact=True).fill("2020-02-02T02:02")
    await dialog.get_by_role("button", name="Recover").click()
    await expect(visit.said()).to_contain_text("This failed: since: it may be at most 14 days")


# --- Looking ------------------------------------------------------------------------------------


async def test_a_payload_is_shown_as_it_came(visit: Visit) -> None:
    text = '{"big": 12345678901234567890,"a":"\\u00e9 \\/","a": [ ], "n":{"x":1.10}}'
    body = f'{{"eventType": "order.paid", "payload": {text}}}'
    made = await visit.ask.post("/api/v1/app/shop/msg", content=body)
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    await visit.go(f"#/app/shop/msg/{made.json()['id']}")
    await visit.sees("No deliveries.")
    payload = visit.page.locator("pre.payload")
    await expect(payload).to_have_text(text)
    await visit.press("Indent")
    await expect(payload).to_contain_text('\n  "n": {\n')
    spread = await payload.text_content()
    assert spread
    assert re.sub(r"\s", "", spread) == re.sub(r"\s", "", text)


async def test_a_message_is_shown_though_its_endpoint_was_deleted(visit: Visit) -> None:
    endpoint = await endpoint_of(visit)
    message = await send(visit, "order-1")
    await visit.until(lambda: visit.receiver.arrivals)
    await visit.ask.delete(f"/api/v1/app/shop/endpoint/{endpoint}")
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    await visit.go(f"#/app/shop/msg/{message}")
    await visit.sees("The endpoint was deleted.")
    assert await visit.page.get_by_role("button", name="Resend").count() == 0
    await visit.page.get_by_role("article").get_by_role("link").click()
    await visit.sees("There is no such endpoint")


async def test_a_message_is_found_by_its_id_and_by_the_sender_s(visit: Visit) -> None:
    message = await send(visit, "order-1")
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    for typed, button in ((message, None), ("order-1", "Open message")):
        await visit.go("#/app/shop/msg")
        await visit.page.get_by_label("Event type or message ID").fill(typed)
        if button:
            await visit.press(button)
        else:
            await visit.page.keyboard.press("Enter")
        await visit.sees("No deliveries.")
        assert visit.page.url.endswith(f"/msg/{typed}")


async def test_older_and_newer_pages_lead_to_each_other(visit: Visit) -> None:
    batch = [
        {"eventType": "order.paid", "payload": {}, "eventId": f"order-{number:02}"}
        for number in range(45)
    ]
    await visit.post("/app/shop/msg/batch", batch)
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    rows, seen = visit.page.locator("tbody tr"), list[list[str]]()
    await visit.go("#/app/shop/msg")
    for link, many in (("", 20), ("Older", 20), ("Older", 5), ("Newer", 20), ("Newest", 20)):
        if link:
            await visit.page.get_by_role("link", name=link).click()
            await expect(rows.first).not_to_have_attribute("data-key", seen[-1][0])
        await expect(rows).to_have_count(many)
        seen.append(await rows.evaluate_all("all => all.map((one) => one.dataset.key)"))
    assert len({one for page in seen[:3] for one in page}) == 45
    assert seen[3:] == [seen[1], seen[0]]


async def test_whoever_turns_the_pages_of_applications_sees_nothing_else(visit: Visit) -> None:
    for number in range(25):
        await visit.post("/app", {"name": f"Customer {number}"})
    await visit.sign_in()
    await visit.sees("Customer 24")
    await visit.page.get_by_role("link", name="Older").click()
    await visit.sees("Customer 4")
    await expect(visit.page.get_by_text("Waiting deliveries")).to_have_count(0)
    await visit.page.get_by_role("link", name="Newest").click()
    await visit.sees("Waiting deliveries")


async def test_a_very_long_address_leaves_room_for_the_others(visit: Visit) -> None:
    await endpoint_of(visit, "/" + "x" * 1800)
    await visit.sign_in()
    await visit.page.get_by_role("link", name="shop").click()
    shown = visit.page.locator("td .url")
    box = await shown.bounding_box()
    assert box
    assert box["height"] < 300
    await shown.click()
    await expect(visit.page.locator("h1")).to_have_text(re.compile("x{1800}$"))


async def test_what_is_opened_stays_open_while_the_page_goes_on(visit: Visit) -> None:
    endpoint = await endpoint_of(visit)
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    await visit.go(f"#/app/shop/endpoint/{endpoint}")
    await visit.page.get_by_text("Settings").click()
    await visit.page.evaluate("document.querySelector('summary').mark = true")
    await send(visit, "order-1")
    await visit.sees("order-1")
    await expect(visit.page.locator("details.settings")).to_have_attribute("open", "")
    assert await visit.page.evaluate("document.querySelector('summary').mark")


async def test_it_is_used_with_the_keyboard_alone(visit: Visit) -> None:
    await endpoint_of(visit)
    await visit.sign_in()  # by Enter; the field has the focus
    await visit.sees("Waiting deliveries")
    page = visit.page

    async def tab_to(name: str) -> None:
        for _ in range(40):
            await page.keyboard.press("Tab")
            if await page.evaluate("document.activeElement.textContent") == name:
                return
        raise AssertionError(name)

    await tab_to("shop")
    await page.keyboard.press("Enter")
    await visit.sees("Details")
    await tab_to(visit.receiver.url)
    await page.keyboard.press("Enter")
    await visit.sees("Pause…")
    await tab_to("Pause…")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await tab_to("Pause…")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await visit.sees("Nothing is sent. New messages wait")


async def test_nothing_is_cut_off_on_a_phone(visit: Visit) -> None:
    endpoint = await endpoint_of(visit, "/" + "a-long-path/" * 20)
    visit.receiver.script([500])
    message = await send(visit, "o" * 200)
    await visit.begin(wide=400)
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    places = ("", "undelivered", "app/shop", "app/shop/msg", "app/shop/undelivered")
    inside = (f"app/shop/endpoint/{endpoint}", f"app/shop/msg/{message}")
    for place in (*places, *inside, f"app/shop/endpoint/{endpoint}/msg"):
        await visit.go(f"#/{place}")
        shown = visit.page.locator(f"main > [data-key='#/{place}']")
        await expect(shown).to_be_attached()
        assert await visit.page.evaluate("document.documentElement.scrollWidth") == 400, place


async def test_it_is_light_or_dark_as_the_reader_likes(visit: Visit) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        await visit.page.emulate_media(color_scheme=json.loads(f'"{scheme}"'))
        await visit.page.goto(f"{visit.url}/dashboard")
        script = "getComputedStyle(document.documentElement).backgroundColor"
        grounds.append(await visit.page.evaluate(script))
    assert grounds[0] != grounds[1]


# --- Who changed what ---------------------------------------------------------------------------


async def test_who_changed_what_is_found_by_actor_and_by_target(visit: Visit) -> None:
    endpoint = await endpoint_of(visit)
    await visit.post(f"/app/shop/endpoint/{endpoint}/pause")
    _, made = await visit.hooks.make_key((Scope.READ,))
    await visit.sign_in()
    await visit.page.get_by_role("link", name="Audit trail").click()
    await visit.sees("v1.lane.pause")
    await visit.sees("standing: enabled → paused")
    by = visit.page.get_by_role("cell", name="key from settings")
    await expect(by.first).to_be_visible()
    await visit.page.get_by_label("Actor").select_option("program")
    await visit.sees("make_key")
    await expect(visit.page.get_by_text("v1.lane.pause")).to_have_count(0)
    await visit.page.get_by_label("Actor").select_option("")
    await visit.sees("v1.lane.pause")
    await visit.page.get_by_label("ID of a key").fill(endpoint)
    await visit.press("Find")
    await expect(visit.page.get_by_text("make_key")).to_have_count(0)
    await visit.page.get_by_role("link", name=endpoint).first.click()
    await visit.sees("Nothing is sent. New messages wait")
    await visit.go("#/audit?target=nobody")
    await visit.sees("No matching changes.")
    assert made.id not in await visit.page.content()

"""What a tenant's own people do with the portal, in a real browser."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.visit import Visit, visiting

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def visit(tmp_path: Path, browser: Browser) -> AsyncIterator[Visit]:
    async with visiting(tmp_path, browser) as visit:
        endpoint = {"url": visit.receiver.url, "uid": "main"}
        await visit.post("/app", {"name": "Another Ltd", "uid": "another"})
        await visit.post("/app/another/endpoint", endpoint)
        await visit.post("/app/shop/endpoint", endpoint)
        yield visit
        assert await visit.trapped() == []


async def link(visit: Visit, **told: object) -> str:
    return str((await visit.post("/auth/app-portal-access/shop", told))["url"])


async def test_a_link_leads_in_and_the_token_is_out_of_sight(visit: Visit) -> None:
    url = await link(visit)
    token = url.rpartition(":")[2]
    await visit.page.goto(url)
    await visit.sees("Your webhooks")
    await expect(visit.page.get_by_role("heading", level=1)).to_have_text("shop")
    assert token not in visit.page.url
    assert await visit.page.get_by_text("UID").count() == 0  # it is the sender's
    await visit.page.get_by_role("link", name="Messages").click()
    await visit.sees("No messages yet.")
    await visit.page.go_back()
    await visit.sees("Details")
    await visit.page.go_back()
    assert token not in visit.page.url
    await visit.page.goto(f"{visit.url}/portal")
    await visit.sees("Details")


async def test_a_developer_sees_whether_their_messages_arrived_and_sends_one_again(
    visit: Visit,
) -> None:
    visit.receiver.script([400])
    sent = {"eventType": "order.paid", "payload": {"order": 1}, "eventId": "order-1"}
    await visit.post("/app/shop/msg", sent)
    await visit.page.goto(await link(visit))
    await visit.page.get_by_role("link", name="Messages").click()
    await visit.sees("1 failed")
    await visit.page.get_by_role("link", name="order.paid").click()
    await visit.sees("Failed: refused.")
    await visit.press("Resend…", sure="Resend")
    await visit.sees("Delivered.")
    await visit.page.get_by_role("article").get_by_role("link").click()
    await visit.press("Recover…", sure="Recover")
    await visit.sees("The list below shows its attempts.")
    await visit.press("Pause…", sure="Pause")
    await visit.sees("Nothing is sent. New messages wait")


async def test_a_token_sees_its_own_application_and_no_other(visit: Visit) -> None:
    await visit.page.goto(await link(visit))
    await visit.sees("Details")
    for place in ("app/another", "app/another/msg", "app/another/endpoint/main", "app/nobody"):
        await visit.go(f"#/{place}")
        await visit.sees("There is no such application")
        assert await visit.page.get_by_text("Another Ltd").count() == 0
        await visit.page.get_by_role("link", name="Back to the start page").click()
        await visit.sees("Details")
    await visit.go("#/undelivered")
    await visit.sees("does not give access to this page")
    assert await visit.page.get_by_role("link", name="Overview").count() == 0


async def test_one_who_may_only_look_is_offered_nothing_else(visit: Visit) -> None:
    await visit.page.goto(await link(visit, readOnly=True))
    await visit.page.get_by_role("link", name=visit.receiver.url).click()
    await visit.sees("No attempts yet.")
    assert await visit.page.locator("main button").count() == 0


async def test_a_link_that_is_over_says_what_to_do(visit: Visit) -> None:
    url = await link(visit)
    await visit.page.goto(url)
    await visit.sees("Details")
    await visit.press("Sign out", sure="Sign out")
    await visit.sees("Ask the sender of your webhooks for a new one")
    await visit.begin()
    await visit.page.goto(url)
    await visit.sees("This link has expired or was revoked.")
    await visit.page.goto(await link(visit))
    await visit.sees("Details")


async def test_a_link_that_is_opened_while_the_server_is_away_opens_when_it_is_back(
    visit: Visit,
) -> None:
    await visit.page.route("**/api/**", lambda route: route.fulfill(status=502))
    await visit.page.goto(await link(visit))
    await visit.sees("the server responded with 502")
    await visit.page.unroute("**/api/**")
    await visit.sees("Details")


async def test_a_token_that_is_typed_at_the_dashboard_leads_to_the_portal(visit: Visit) -> None:
    await visit.sign_in((await link(visit)).rpartition(":")[2])
    await visit.sees("Details")
    assert "/portal" in visit.page.url

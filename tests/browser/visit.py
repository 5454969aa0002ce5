"""Somebody who looks at the pages of a real server, with a real browser."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

import httpx
from playwright.async_api import Browser, Locator, Page, expect

from tarry.service import Hooks, open_hooks
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.testing.receiver import Receiver
from tests.plain_http import PLAIN

KEY = "let-me-in"
PATIENCE = 120.0
expect.set_options(timeout=PATIENCE * 1000)

WATCH = """
window.trapped = [];
window.trap = (what) => window.trapped.push(String(what));
addEventListener("securitypolicyviolation", (event) =>
  trap(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""
"""Runs before a page's own scripts, and hears what the page was not allowed to do."""


class Visit:
    """A server with its dispatcher at work, a receiver, and a page that looks at the server."""

    def __init__(
        self, hooks: Hooks, url: str, receiver: Receiver, browser: Browser, stack: AsyncExitStack
    ) -> None:
        self.hooks, self.url, self.receiver = hooks, url, receiver
        self._browser, self._stack = browser, stack
        self.page: Page
        self.ask: httpx.AsyncClient
        self.faults: list[str] = []
        """What went wrong in the page: errors of its own, and what its policy refused."""

    async def begin(self, *, wide: int = 1280) -> Self:
        """Look with a browser profile that has not been here before."""
        new = await self._browser.new_context(viewport={"width": wide, "height": 800})
        context = await self._stack.enter_async_context(new)
        await context.add_init_script(WATCH)
        self.page = await context.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self._heed)
        return self

    def _heed(self, request: Any) -> None:  # noqa: ANN401  playwright's own
        if not request.url.startswith((self.url, "data:")):
            self.faults.append(f"it asked for {request.url}")

    async def sign_in(self, key: str = KEY) -> None:
        """As an operator does."""
        await self.page.goto(f"{self.url}/dashboard")
        await self.page.get_by_label("Key").fill(key)
        await self.page.keyboard.press("Enter")

    async def go(self, hash_: str) -> None:
        """To a view, as a link would."""
        await self.page.evaluate("to => { location.hash = to }", hash_)

    async def press(self, button: str, sure: str | None = None) -> None:
        """Press a button, and the one in the dialog that asks."""
        await self.page.get_by_role("button", name=button).first.click()
        if sure is not None:
            await self.page.get_by_role("dialog").get_by_role("button", name=sure).click()

    async def sees(self, text: str) -> None:
        """Wait until the page shows it."""
        await expect(self.page.get_by_text(text).first).to_be_visible()

    def said(self) -> Locator:
        """What the page says that it has done."""
        return self.page.locator("#notice")

    async def trapped(self) -> list[str]:
        """What has run or was refused in the page, though it should not have been there."""
        found: list[str] = await self.page.evaluate("window.trapped")
        return found + self.faults

    async def post(self, way: str, body: object = None) -> dict[str, Any]:
        """Ask the API as a program would."""
        answer = await self.ask.post(f"/api/v1{way}", json=body)
        assert answer.is_success, answer.text
        said: dict[str, Any] = answer.json()
        return said

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait for something that happens in a thread."""
        async with asyncio.timeout(PATIENCE):
            while not holds():  # noqa: ASYNC110  it is in another thread
                await asyncio.sleep(0.02)


@asynccontextmanager
async def visiting(folder: Path, browser: Browser) -> AsyncIterator[Visit]:
    """All of it, for an application `shop` without endpoints."""
    db = f"sqlite:////{str(folder / 'hooks.db').lstrip('/')}"
    async with AsyncExitStack() as stack:
        receiver = stack.enter_context(Receiver(bodies=True))
        hooks = await stack.enter_async_context(open_hooks(db, allow_network=("127.0.0.0/8",)))
        api = await make_api(hooks, KEY)
        url = await stack.enter_async_context(serving(api, "127.0.0.1:0"))
        await stack.enter_async_context(hooks.dispatching())
        await hooks.application("shop")
        visit = Visit(hooks, url, receiver, browser, stack)
        headers = {"authorization": f"Bearer {KEY}"}
        client = httpx.AsyncClient(base_url=url, headers=headers, **PLAIN)
        visit.ask = await stack.enter_async_context(client)
        yield await visit.begin()

"""Whatever others write is shown by the pages as text: nothing of it runs, in a real browser."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from playwright.async_api import Browser, expect

from tests.browser.visit import Visit, visiting

pytestmark = pytest.mark.anyio

CORPUS = (
    "<script>trap(1)</script>",
    "<ScRiPt>trap(1)</sCrIpT>",
    "<script src=/web/main.js></script>",
    "<script src=//example.com/x.js></script>",
    "<script type=module>trap(1)</script>",
    "</script><script>trap(1)</script>",
    "</title><script>trap(1)</script>",
    "</textarea><script>trap(1)</script>",
    "</style><script>trap(1)</script>",
    "--><script>trap(1)</script><!--",
    "]]><script>trap(1)</script>",
    "<img src=x onerror=trap(1)>",
    "<img src=x onerror='trap(1)'",
    '"><img src=x onerror=trap(1)>',
    "'><img src=x onerror=trap(1)>",
    "`><img src=x onerror=trap(1)>",
    "<img/src/onerror=trap(1)>",
    "<image src=x onerror=trap(1)>",
    "<svg onload=trap(1)>",
    "<svg><script>trap(1)</script></svg>",
    "<svg><animate onbegin=trap(1) attributeName=x></svg>",
    "<svg><a xlink:href=javascript:trap(1)><text y=20>x</text></a></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=trap(1)>",
    "<body onload=trap(1)>",
    "<iframe srcdoc='<script>parent.trap(1)</script>'></iframe>",
    "<iframe src=javascript:parent.trap(1)></iframe>",
    "<object data=javascript:trap(1)></object>",
    "<embed src=javascript:trap(1)>",
    "<a href=javascript:trap(1)>x</a>",
    "<a href=&#106;avascript:trap(1)>x</a>",
    "javascript:trap(1)",
    "java\tscript:trap(1)",
    "data:text/html,<script>parent.trap(1)</script>",
    "<form action=javascript:trap(1)><button>x</button></form>",
    "<button formaction=javascript:trap(1)>x</button>",
    "<input autofocus onfocus=trap(1)>",
    "<select autofocus onfocus=trap(1)>",
    "<details open ontoggle=trap(1)>",
    "<video><source onerror=trap(1)></video>",
    "<audio src=x onerror=trap(1)>",
    "<marquee onstart=trap(1)>",
    "<div style=background:url(javascript:trap(1))>",
    "<div style=animation-name:rise onanimationstart=trap(1)>",
    "<style>@import '//example.com/x.css';</style>",
    "<link rel=stylesheet href=//example.com/x.css>",
    "<meta http-equiv=refresh content='0;url=javascript:trap(1)'>",
    "<base href=//example.com/>",
    "<template><script>trap(1)</script></template>",
    "{{constructor.constructor('trap(1)')()}}",
    "${trap(1)} #{trap(1)} <%= trap(1) %>",
    "';trap(1)//\";trap(1)//`;trap(1)//",
    "\u202etrap(1)\u202c \u2028 \ufeff &lt;script&gt;",
)

REFUSE = """
new Promise((heard) => {
  addEventListener("securitypolicyviolation", () => heard(), { once: true });
  document.body.insertAdjacentHTML("beforeend", "<img src=x onerror=trap(1)>");
})
"""
"""Puts in what the page has to refuse, and ends when it has been refused. To wait with Playwright
would not do: it evaluates a string each time it looks, which the page's policy forbids too."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def visit(tmp_path: Path, browser: Browser) -> AsyncIterator[Visit]:
    async with visiting(tmp_path, browser) as visit:
        yield visit


@asynccontextmanager
async def echoing() -> AsyncIterator[str]:
    """A receiver that fails, and answers what its path says."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        said = unquote(head.split(b" ")[1].decode().rpartition("?")[2]).encode()
        kind = b"content-type: text/html\r\nconnection: close\r\n"
        writer.write(b"HTTP/1.1 500 <b>\r\n%bcontent-length: %d\r\n\r\n" % (kind, len(said)) + said)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def shown(text: str) -> str:
    """A text as the page's own text has it."""
    return " ".join(text.split())


async def test_fifty_strings_in_every_field_run_nowhere(visit: Visit) -> None:
    assert len(set(CORPUS)) >= 50
    async with echoing() as url:
        endpoints = dict[str, str]()
        for one in CORPUS:
            await visit.post("/app", {"name": one, "metadata": {one: one}})
            body = {
                "url": f"{url}/{quote(one)}?{quote(one)}",
                "description": one,
                "metadata": {one: one},
            }
            endpoints[one] = (await visit.post("/app/shop/endpoint", body))["id"]
        payload = {one: [one, {one: one}] for one in CORPUS}
        tagged = [one for one in CORPUS if len(one) <= 128][:50]
        sent = {"eventType": "a", "payload": payload, "tags": tagged}
        message = (await visit.post("/app/shop/msg", sent))["id"]
        await visit.sign_in()
        await visit.sees("Waiting deliveries")
        await _look(visit, message, endpoints)
        await _look_in_portal(visit, message)


async def _look(visit: Visit, message: str, endpoints: dict[str, str]) -> None:
    main = visit.page.locator("main")
    names = set[str]()
    for _ in range(3):  # pages of applications
        rows = main.locator("table").last.locator("tbody tr")
        await expect(rows.first).to_be_visible()
        names |= {shown(content) for content in await rows.locator("bdi").all_text_contents()}
        assert await visit.trapped() == []
        if await main.get_by_role("link", name="Older").count():
            first = await rows.first.get_attribute("data-key")
            await main.get_by_role("link", name="Older").click()
            await expect(rows.first).not_to_have_attribute("data-key", first or "")
    assert {shown(one) for one in CORPUS} <= names
    for place in ("app/shop", "app/shop/msg", "undelivered", "app/shop/undelivered", "audit"):
        await visit.go(f"#/{place}")
        await expect(main.locator(f"[data-key='#/{place}'] tbody tr").first).to_be_visible()
        assert await visit.trapped() == [], place
    await visit.go(f"#/app/shop/msg/{message}")
    await visit.sees("Payload")
    await visit.press("Indent")
    told = await main.locator("pre").last.text_content()
    assert told
    assert "</title><script>trap(1)</script>" in told
    for one, endpoint in endpoints.items():
        await visit.go(f"#/app/shop/endpoint/{endpoint}")
        description = visit.page.locator(
            f"[data-key='#/app/shop/endpoint/{endpoint}'] .description"
        )
        assert shown(await description.text_content() or "") == shown(one)
        answer = main.locator("tbody .body").first
        await expect(answer).to_be_visible()
        assert shown(one).startswith(shown(await answer.text_content() or ""))
        assert await visit.trapped() == [], one


async def _look_in_portal(visit: Visit, message: str) -> None:
    access = await visit.post("/auth/app-portal-access/shop", {})
    await visit.page.goto(access["url"])
    await visit.sees("Details")
    await visit.go(f"#/app/shop/msg/{message}")
    await visit.sees("Payload")
    assert await visit.trapped() == []


async def test_an_address_runs_nothing(visit: Visit) -> None:
    await visit.sign_in()
    await visit.sees("Waiting deliveries")
    access = await visit.post("/auth/app-portal-access/shop", {})
    for page in ("/dashboard", "/portal"):
        for one in CORPUS:
            for address in (f"/app/{one}/msg?type={one}&page={one}", one):
                await visit.page.goto(f"{visit.url}{page}#{address}")
                await expect(visit.page.locator("main h1")).to_be_visible()
        assert await visit.trapped() == []  # of the whole time: only the place within it changed
    await visit.page.goto(f"{visit.url}/portal#{CORPUS[0]}:{access['token']}")
    await expect(visit.page.locator("main h1")).to_be_visible()
    assert await visit.trapped() == []


async def test_the_trap_holds_what_runs(visit: Visit) -> None:
    await visit.page.goto(f"{visit.url}/dashboard")
    await visit.page.evaluate(REFUSE)
    assert "script-src" in (await visit.trapped())[0]
    await visit.page.evaluate("trap('ran')")
    assert "ran" in await visit.trapped()

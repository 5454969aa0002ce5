"""The browser that tests look at pages with runs scripts and draws words."""

from pathlib import Path

import pytest

from tests.browser.chromium import HERE, chromium

PAGE = """<!doctype html><title>before</title>
<button onclick="document.title = 'clicked'">Click</button>
<span>iiiiiiii</span><br><span>WWWWWWWW</span>"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_page_is_clicked_on_and_has_a_font() -> None:
    async with chromium() as browser:
        page = await browser.new_page()
        await page.set_content(PAGE)
        await page.click("button")
        assert await page.title() == "clicked"
        narrow, wide = [await span.bounding_box() for span in await page.locator("span").all()]
        assert narrow is not None
        assert wide is not None
        assert narrow["width"] < wide["width"] / 2  # without one all would be boxes of a size


def test_the_lock_names_no_host() -> None:
    assert "resolved" not in Path(HERE / "package-lock.json").read_text()

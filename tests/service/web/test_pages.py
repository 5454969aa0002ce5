"""The dashboard and the portal as a browser asks for them."""

import re
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path

import httpx
import pytest

from tarry.service import open_hooks
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.web.pages import CONTENT_TYPES, PLACES, pages
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio

STATIC = Path(str(files("tarry.service.web") / "static"))
FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
EXPORT = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)
IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"([^"]+)";$', re.MULTILINE)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    db = f"sqlite:////{str(tmp_path / 'hooks.db').lstrip('/')}"
    async with (
        open_hooks(db) as hooks,
        serving(await make_api(hooks, None), "127.0.0.1:0") as url,
        httpx.AsyncClient(base_url=url, **PLAIN) as client,
    ):
        yield client


# --- What is served -----------------------------------------------------------------------------


async def test_every_file_is_served_as_what_it_is(client: httpx.AsyncClient) -> None:
    for path, (_, _, body) in pages().items():
        answer = await client.get(path)
        assert (answer.status_code, answer.content) == (200, body), path
        ending = "html" if path in PLACES else path.rpartition(".")[2]
        assert answer.headers["content-type"] == CONTENT_TYPES[ending]
    assert len(pages()) == len(FILES) + 1  # the page is at two places


async def test_nothing_that_a_page_holds_runs_or_is_loaded_from_elsewhere(
    client: httpx.AsyncClient,
) -> None:
    for path in pages():
        headers = (await client.get(path)).headers
        policy = dict(one.split(" ", 1) for one in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert policy["base-uri"] == policy["form-action"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


async def test_what_a_browser_has_already_is_not_sent_again(client: httpx.AsyncClient) -> None:
    first = await client.get("/dashboard")
    assert first.headers["cache-control"] == "no-cache"
    again = await client.get("/dashboard", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "content-length" not in again.headers
    assert again.headers["etag"] == first.headers["etag"]
    other = await client.get("/dashboard", headers={"if-none-match": '"another"'})
    assert other.status_code == 200


async def test_they_are_looked_at_and_nothing_else(client: httpx.AsyncClient) -> None:
    head = await client.head("/web/main.js")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) > 0
    answer = await client.post("/portal")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert answer.json()["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    "path",
    [
        "/web",
        "/web/index.html",
        "/web/nothing.js",
        "/web/pages.py",
        "/web/../pages.py",
        "/web/%2e%2e/pages.py",
        "/web/views",
        "/web//main.js",
        "/web/main.js%00",
        "/dashboard/x",
    ],
)
async def test_what_is_not_one_of_them_is_not_there(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.send(httpx.Request("GET", f"{client.base_url}{path}"))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_person_at_the_root_is_led_to_the_dashboard(client: httpx.AsyncClient) -> None:
    browser = await client.get("/", headers={"accept": "text/html,application/xhtml+xml;q=0.9"})
    assert (browser.status_code, browser.headers["location"]) == (303, "/dashboard")
    assert (await client.get("/")).json()["code"] == "not_found"


# --- What the files say -------------------------------------------------------------------------


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(STATIC)))
def test_a_script_says_what_it_is_for_and_uses_what_it_brings_in(script: Path) -> None:
    text = script.read_text()
    assert text.startswith("// ")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text)
    rest = IMPORT.sub("", text)
    for names, source in IMPORT.findall(text):
        assert (script.parent / source).resolve().is_file(), source
        there = (script.parent / source).resolve().read_text()
        for name in (one.strip() for one in names.split(",") if one.strip()):
            told, _, used = name.partition(" as ")
            assert told in EXPORT.findall(there), name
            assert re.search(rf"\b{used or told}\b", rest), f"{name} is not used"


def test_what_a_script_gives_is_taken_by_another() -> None:
    taken = {
        name.strip().partition(" as ")[0]
        for script in SCRIPTS
        for names, _ in IMPORT.findall(script.read_text())
        for name in names.split(",")
    }
    for script in SCRIPTS:
        text = script.read_text()
        for name in EXPORT.findall(text):
            assert name in taken or len(re.findall(rf"\b{name}\b", text)) > 1, (script.name, name)

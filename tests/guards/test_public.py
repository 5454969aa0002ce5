"""The README, the docs and the examples import from public modules alone."""

import re
from pathlib import Path

import pytest

from tarry import service
from tests.project_files import ROOT, project_files

PUBLIC = {
    "tarry",
    "tarry.call.http",
    "tarry.call.http.aiohttp",
    "tarry.call.http.httpx",
    "tarry.call.http.httpx2",
    "tarry.call.http.requests",
    "tarry.errors",
    "tarry.observe",
    "tarry.observe.log",
    "tarry.observe.otel",
    "tarry.observe.prometheus",
    "tarry.observe.structlog",
    "tarry.receive",
    "tarry.receive.django",
    "tarry.receive.flask",
    "tarry.receive.starlette",
    "tarry.service",
    "tarry.service.api.open",  # the HTTP API in a program of your own: it needs uvicorn
    "tarry.service.api.server",
    "tarry.service.outbox",
    "tarry.service.store.memory",  # the reference, for people who write a store
    "tarry.sim",
    "tarry.sim.shipped",
    "tarry.sim.study",
    "tarry.testing",
    "tarry.testing.postgres",
    "tarry.testing.receiver",
    "tarry.testing.store_contract",
    "tarry.testing.store_contract.add",  # and the other topics of the suite
    "tarry.testing.store_machine",
    "tarry.testing.virtual_loop",
    "tarry.testing.virtual_service",
    "tarry.testing.zoo",
}
PAGES = [
    ROOT / "README.md",
    *(path for path in project_files("docs") if path.suffix == ".md"),
    *(path for path in project_files("examples") if path.suffix == ".py"),
]
IMPORT = re.compile(r"\b(?:from (tarry[\w.]*) import|import (tarry[\w.]*))")


def imported(text: str) -> set[str]:
    """Return the modules of tarry that a text imports."""
    return {one or other for one, other in IMPORT.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_readers_are_shown_public_addresses_alone(page: Path) -> None:
    assert imported(page.read_text()) - PUBLIC == set()


def test_every_public_address_is_shown_somewhere_or_documented() -> None:
    shown = set().union(*(imported(page.read_text()) for page in PAGES))
    reference = "".join(path.read_text() for path in project_files("docs/reference"))
    assert {name for name in PUBLIC - shown if f"{name}." not in reference} == set()


def test_the_guard_sees_both_kinds_of_imports() -> None:
    text = "from tarry.core.x import y\nimport tarry.cli\n"
    assert imported(text) == {"tarry.core.x", "tarry.cli"}


@pytest.mark.parametrize("name", service.__all__)
def test_every_name_that_the_service_promises_says_what_it_is(name: str) -> None:
    assert getattr(service, name).__doc__

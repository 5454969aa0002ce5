"""The rules of CONTRIBUTING.md that reading the source of all of tarry can hold.

- No module imports itself by a detour, typed imports included.
- A wait is decided in one place: nothing outside of `core` and `sim` lets a number grow
  exponentially or draws lots, except as listed here with the reason.
- No module uses private names of another one.
- Doors to the type checker and the linter (`Any`, `noqa`) do not become more.

The layers are import-linter's, see pyproject.toml.
"""

import ast
import functools

import pytest

from tests.measure.house import words
from tests.measure.structure import foreign_private_names, imports, in_cycles, modules, powers
from tests.project_files import ROOT, project_files

FREE = ("tarry.core.", "tarry.sim.", "tarry.testing.")
"""Where waits are computed, and where storms and tests are made."""
DECIDE = {
    "tarry": "exports it",
    "tarry.call.effort": "around a call",
    "tarry.service.dispatch.outcomes.judge": "after an attempt at a delivery",
    "tarry.sim.contention": "for a simulated client",
    "tarry.sim.server.layers": "for a simulated layer",
}
DRAW = {
    "tarry.call.policy": "policy.waits(seed) gives the same draws to core",
    "tarry.call.world": "the draws of calls",
    "tarry.cli.listen.inbox": "which requests fail on purpose",
    "tarry.service.dispatch.dispatcher": "the draws of deliveries",
}
GROW = {
    "tarry.cli.output.numbers": "the digits that are shown",
    "tarry.service.model.ids": "reads the number in an id",
    "tarry.service.store.old_rows": "rows in a page",
    "tarry.service.store.paged_search": "rows in a page",
}
PRIVATE = {
    ("tarry.call.http.aiohttp", "_timer"): "tells the requests of one call by their timer",
    ("tarry.call.http.transport", "_stream"): "httpx's body of a file, which has no public name",
    ("tarry.call.shape", "_is_coroutine_mark"): "importing inspect would take too long",
    ("tarry.receive.starlette", "_body"): "Starlette keeps the body there for the handler",
}
NAMED_TUPLE = {"_asdict", "_replace"}
"""Names that Python documents as public."""
MOST = {
    "uses of Any in src": 305,
    "noqa comments in src": 397,
    "uses of Any in tests": 660,
    "noqa comments in tests": 433,
}
"""Lower these when a count has become lower."""


@functools.cache
def sources() -> dict[str, ast.Module]:
    """All modules of tarry by their dotted names, parsed."""
    found = modules(ROOT / "src", project_files("src"))
    assert len(found) > 500
    return found


def outside() -> dict[str, ast.Module]:
    """The modules that may not compute a wait."""
    return {name: tree for name, tree in sources().items() if not name.startswith(FREE)}


def test_no_module_leads_back_to_itself() -> None:
    assert in_cycles(sources()) == []


def test_whether_to_try_again_is_asked_of_decide_in_the_known_places() -> None:
    asking = {
        name
        for name, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "tarry.core.decide"
        for alias in node.names
        if alias.name == "decide"
    }
    assert asking == DECIDE.keys()


def test_only_the_known_places_draw_lots() -> None:
    drawing = {name for name, tree in outside().items() if imports(tree, {"random"})}
    assert drawing == DRAW.keys()


def test_no_wait_grows_outside_of_the_core() -> None:
    found = {
        f"{name}:{line}: {what}"
        for name, tree in outside().items()
        if name not in GROW
        for line, what in powers(tree)
    }
    assert not found, "let a backoff of core compute it:\n" + "\n".join(found)


@pytest.mark.parametrize("name", GROW)
def test_no_place_is_excused_that_has_nothing_growing(name: str) -> None:
    assert list(powers(sources()[name]))


def test_private_names_stay_in_their_modules() -> None:
    found = {
        (name, private)
        for name, tree in sources().items()
        for _, private in foreign_private_names(tree)
        if private not in NAMED_TUPLE
    }
    assert found == PRIVATE.keys()


def test_doors_to_the_checkers_do_not_become_more() -> None:
    counted = {what: int(count) for what, count in words(ROOT).items()}
    assert counted.keys() == MOST.keys()
    assert {what: count for what, count in counted.items() if count > MOST[what]} == {}

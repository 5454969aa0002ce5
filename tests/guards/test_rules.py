"""The rules of CONTRIBUTING.md that reading the source of all of tarry can hold.

- No module imports itself by a detour, typed imports included.
- A wait is decided in one place: nothing outside of `core` and `sim` lets a number grow
  exponentially, draws lots or multiplies the time that it waits, except as listed here with the
  reason.
- The core does no I/O, also not by functions that need no import.
- The values of the service's model are frozen, as those of the core are (`core/value.py`).
- No module uses private names of another one.
- A name of a constant does not have a dozen meanings.
- Every check is on, and an exception outside of the tests has a reason beside it.
- Doors to the type checker and the linter (`Any`, `noqa`) do not become more.

The layers are import-linter's, see pyproject.toml. `test_house.py` has the rules about files, and
`test_exports.py`, `test_public.py` and `test_docs_run.py` those about what is public.
"""

import ast
import functools
import io
import re
import tokenize
import tomllib

import pytest

from tests.measure.house import words
from tests.measure.structure import (
    calls_of,
    changeable_structs,
    computed_waits,
    constants,
    foreign_private_names,
    imports,
    in_cycles,
    modules,
    powers,
)
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
    "tarry.service.model.redaction": "the bits of the steps of paths",
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
RANDOM = {"numpy.random", "random"}
DRAWING = {"SystemRandom", "default_rng", "randbelow"}
"""Functions by which chance comes from elsewhere."""
BUILT_IN_IO = {"input", "open", "print"}
EXCEPTION = re.compile(
    r"#\s*(?:noqa: [A-Z0-9, ]*[A-Z][0-9]+|type: ignore\[[\w, -]+\])(?P<reason>.*)"
)
MOST_MEANINGS = 3
"""More definitions of one constant with different values are too many."""
SAME_ROLE = {
    "COLUMNS": "of a table that a command prints",
    "EXIT_CODES": "of a command, in its help",
    "FAULTS": "by the exceptions of an HTTP client",
    "MOST_BYTES": "that are read of something",
    "MOST_CACHED": "entries of a cache",
    "MOST_HEAD": "bytes of a request or a response",
    "PATH": "of the operations in a file",
}
"""Constants that mean the same in each module, of another thing."""
MOST = {
    "uses of Any in src": 200,
    "noqa comments in src": 345,
    "uses of Any in tests": 617,
    "noqa comments in tests": 431,
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
    drawing = {
        name
        for name, tree in outside().items()
        if imports(tree, RANDOM) or list(calls_of(tree, DRAWING))
    }
    assert drawing == DRAW.keys()


def test_no_wait_grows_outside_of_the_core() -> None:
    found = {
        f"{name}:{line}: {what}"
        for name, tree in outside().items()
        if name not in GROW
        for line, what in powers(tree)
    }
    assert not found, "let a backoff of core compute it:\n" + "\n".join(found)


def test_no_wait_is_multiplied_where_it_is_waited() -> None:
    found = [
        f"{name}:{line}: {call}"
        for name, tree in outside().items()
        for line, call in computed_waits(tree)
    ]
    assert not found, "let a policy of core compute it:\n" + "\n".join(found)


def test_the_core_does_no_input_and_output() -> None:
    found = [
        f"{name}:{line}: {call}"
        for name, tree in sources().items()
        if name.startswith("tarry.core.")
        for line, call in calls_of(tree, BUILT_IN_IO)
    ]
    assert found == []


def test_the_values_of_the_model_are_frozen() -> None:
    found = [
        f"{name}.{kind}"
        for name, tree in sources().items()
        if name.startswith("tarry.service.model.")
        for kind in changeable_structs(tree)
    ]
    assert found == []


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


def test_a_constant_has_one_meaning() -> None:
    values: dict[str, dict[str, str]] = {}
    for name, tree in sources().items():
        for constant, value in constants(tree):
            values.setdefault(constant.strip("_"), {}).setdefault(value, name)
    found = {
        constant: sorted(places.values())
        for constant, places in values.items()
        if len(places) > MOST_MEANINGS and constant not in SAME_ROLE
    }
    assert found == {}, "give each a name of its own"


def test_every_check_is_on() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tools["ruff"]["lint"]["select"] == ["ALL"]
    assert tools["mypy"]["strict"]
    assert tools["pytest"]["filterwarnings"][0] == "error"


def without_reason(comment: str) -> bool:
    """Tell whether a comment switches a check off and does not say why."""
    return any(not match["reason"].strip(" -") for match in EXCEPTION.finditer(comment))


def test_an_exception_outside_of_the_tests_has_a_reason() -> None:
    scripts = [path for path in project_files() if path.suffix == ".py" or path == ROOT / "dev"]
    assert ROOT / "dev" in scripts
    found = [
        f"{path.relative_to(ROOT)}:{token.start[0]}"
        for path in scripts
        if not path.is_relative_to(ROOT / "tests")
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        if token.type == tokenize.COMMENT and without_reason(token.string)
    ]
    assert not found, "\n".join(["these say no reason:", *found])


def test_the_guard_sees_whether_there_is_a_reason() -> None:
    said = ["# noqa: ANN401  JSON", "# noqa: A1, B2 - why", "# type: ignore[a-b]  why", "# why"]
    assert [comment for comment in said if without_reason(comment)] == []
    bare = ["# noqa: PLR2004", "# noqa: A001, B002", "# type: ignore[a-b]"]
    assert [comment for comment in bare if not without_reason(comment)] == []


def test_doors_to_the_checkers_do_not_become_more() -> None:
    counted = {what: int(count) for what, count in words(ROOT).items()}
    assert counted.keys() == MOST.keys()
    assert {what: count for what, count in counted.items() if count > MOST[what]} == {}

"""The structure of the dispatcher, held to its rules by reading the source.

- No module imports itself by a detour, typed imports included.
- An object writes its own fields alone.
- No class is split over files by inheritance.
- No function is longer than a screen.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project_files import ROOT, project_files

PACKAGE = ROOT / "src/tarry/service/dispatch"
LONGEST = 40
"""Lines of a function, signature and docstring left out."""
VALUES = {"Struct", "Protocol", "Generic", "StrEnum", "dict", "Mapping", "Exception"}
"""What a class may inherit from: not a part of another class of this package."""


def sources() -> dict[str, ast.Module]:
    """The modules of the dispatcher by their dotted names, parsed."""
    found = {}
    for path in project_files("src/tarry/service/dispatch"):
        if path.suffix == ".py":
            parts = path.relative_to(ROOT / "src").with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            found[name] = ast.parse(path.read_text())
    assert len(found) > 40
    return found


def imports(tree: ast.Module, modules: set[str]) -> set[str]:
    """The modules of the package that a module imports, also for its types alone."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & modules


def cycles(graph: dict[str, set[str]]) -> list[str]:
    """The modules that lead back to themselves."""
    in_cycles = []
    for start, imported in graph.items():
        seen: set[str] = set()
        ahead = list(imported)
        while ahead:
            module = ahead.pop()
            if module not in seen:
                seen.add(module)
                ahead += graph[module]
        if start in seen:
            in_cycles.append(start)
    return in_cycles


def outside_writes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Assignments to fields of something else than `self`."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        elif isinstance(node, ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            targets = [node.optional_vars]
        for target in targets:
            for one in ast.walk(target):
                if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store | ast.Del):
                    of = ast.unparse(one.value)
                    if of not in {"self", "cls"}:
                        yield one.lineno, ast.unparse(one)


def long_functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body and (lines := (body[-1].end_lineno or 0) - body[0].lineno + 1) > LONGEST:
                yield node.name, lines


def split_classes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Classes that inherit from something that is no value, protocol or exception."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                name = ast.unparse(base).partition("[")[0]
                if name not in VALUES:
                    yield node.name, name


def test_no_module_leads_back_to_itself() -> None:
    trees = sources()
    graph = {name: imports(tree, set(trees)) - {name} for name, tree in trees.items()}
    assert cycles(graph) == []


def test_an_object_writes_its_own_fields_alone() -> None:
    found = [
        f"{name}:{line}: {what}"
        for name, tree in sources().items()
        for line, what in outside_writes(tree)
    ]
    assert not found, "\n".join(found)


def test_no_class_is_split_over_files_by_inheritance() -> None:
    found = {name: list(split_classes(tree)) for name, tree in sources().items()}
    assert {name: split for name, split in found.items() if split} == {}


def test_functions_fit_on_a_screen() -> None:
    found = {name: list(long_functions(tree)) for name, tree in sources().items()}
    assert {name: long for name, long in found.items() if long} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("lane.hungry = True", ["lane.hungry"]),
        ("self.lane.hungry += 1", ["self.lane.hungry"]),
        ("a, lane.b = 1, 2", ["lane.b"]),
        ("del lane.b", ["lane.b"]),
        ("lane.b: int = 1", ["lane.b"]),
        ("self.b = lane.b", []),
        ("lanes[1] = 2", []),
    ],
)
def test_the_guard_sees_writes_from_outside(source: str, found: list[str]) -> None:
    assert [what for _, what in outside_writes(ast.parse(source))] == found


def test_the_guard_sees_a_cycle_by_types_alone() -> None:
    typed = "if TYPE_CHECKING:\n    from a import B"
    trees = {"a": ast.parse("from b import C"), "b": ast.parse(typed), "c": ast.parse("import a")}
    graph = {name: imports(tree, set(trees)) for name, tree in trees.items()}
    assert sorted(cycles(graph)) == ["a", "b"]


def test_the_guard_sees_a_class_that_is_a_part_of_another_and_a_long_function() -> None:
    assert list(split_classes(ast.parse("class Lane(Landing): pass"))) == [("Lane", "Landing")]
    body = "\n".join(["    x = 1"] * (LONGEST + 1))
    assert list(long_functions(ast.parse(f"def f():\n{body}"))) == [("f", LONGEST + 1)]


def test_the_package_is_where_it_is_looked_for() -> None:
    assert Path(PACKAGE, "dispatcher.py").exists()

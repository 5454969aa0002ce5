"""The structure of the dispatcher, held to its rules by reading the source.

- No module imports itself by a detour, typed imports included.
- An object writes its own fields alone.
- No class is split over files by inheritance.
- No function is longer than a screen.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.measure.structure import function_lengths, in_cycles, modules, outside_writes
from tests.project_files import ROOT, project_files

PACKAGE = ROOT / "src/tarry/service/dispatch"
LONGEST = 40
"""Lines of a function, signature and docstring left out."""
VALUES = {"Struct", "Protocol", "Generic", "StrEnum", "dict", "Mapping", "Exception"}
"""What a class may inherit from: not a part of another class of this package."""


def sources() -> dict[str, ast.Module]:
    """The modules of the dispatcher by their dotted names, parsed."""
    found = modules(ROOT / "src", project_files("src/tarry/service/dispatch"))
    assert len(found) > 30
    return found


def split_classes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Classes that inherit from something that is no value, protocol or exception."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                name = ast.unparse(base).partition("[")[0]
                if name not in VALUES:
                    yield node.name, name


def test_no_module_leads_back_to_itself() -> None:
    assert in_cycles(sources()) == []


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
    found = {
        f"{name}.{function}": lines
        for name, tree in sources().items()
        for function, lines in function_lengths(tree)
        if lines > LONGEST
    }
    assert found == {}


def test_the_guard_sees_a_class_that_is_a_part_of_another() -> None:
    assert list(split_classes(ast.parse("class Lane(Landing): pass"))) == [("Lane", "Landing")]


def test_the_package_is_where_it_is_looked_for() -> None:
    assert Path(PACKAGE, "dispatcher.py").exists()

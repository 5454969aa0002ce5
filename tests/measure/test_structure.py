"""The measures of structure see what they are meant to see, on small sources."""

import ast
from pathlib import Path

import pytest

from tests.measure.structure import (
    calls_of,
    changeable_structs,
    computed_waits,
    constants,
    foreign_private_names,
    function_lengths,
    imports,
    in_cycles,
    modules,
    outside_writes,
    powers,
    protocol_methods,
    split_classes,
)


def parsed(sources: dict[str, str]) -> dict[str, ast.Module]:
    return {name: ast.parse(source) for name, source in sources.items()}


def test_modules_have_the_names_they_are_imported_by(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    paths = [tmp_path / "a/__init__.py", tmp_path / "a/b.py", tmp_path / "a/c.sql"]
    for path in paths:
        path.touch()
    assert list(modules(tmp_path, paths)) == ["a", "a.b"]


def test_imports_are_seen_in_every_form_and_place() -> None:
    source = "import a.b\nfrom a import c\ndef f():\n    from a.d import e\nimport os"
    assert imports(ast.parse(source), {"a.b", "a.c", "a.d", "a.z"}) == {"a.b", "a.c", "a.d"}


def test_a_cycle_by_types_alone_counts() -> None:
    typed = "if TYPE_CHECKING:\n    from a import B"
    trees = parsed({"a": "from b import C", "b": typed, "c": "import a"})
    assert in_cycles(trees) == ["a", "b"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("lane.hungry = True", ["lane.hungry"]),
        ("self.lane.hungry += 1", ["self.lane.hungry"]),
        ("a, lane.b = 1, 2", ["lane.b"]),
        ("del lane.b", ["lane.b"]),
        ("lane.b: int = 1", ["lane.b"]),
        ("with a as lane.b: pass", ["lane.b"]),
        ("self.b = lane.b", []),
        ("lanes[1] = 2", []),
    ],
)
def test_writes_from_outside_are_seen(source: str, found: list[str]) -> None:
    assert [what for _, what in outside_writes(ast.parse(source))] == found


def test_the_length_of_a_function_leaves_out_signature_and_docstring() -> None:
    source = 'def f(\n    a,\n):\n    """Words."""\n    x = 1\n    return x\n\nasync def g(): pass'
    assert list(function_lengths(ast.parse(source))) == [("f", 2), ("g", 1)]


def test_a_class_of_several_parts_from_other_modules_is_split() -> None:
    trees = parsed(
        {
            "parts": "class A: pass\nclass B: pass\nclass P(Protocol): pass\nclass E(Error): pass",
            "whole": "from parts import A, B as C, P\nclass Split(A, C): pass\n"
            "class One(A, P): pass\nclass Here: pass\nclass Near(A, Here): pass",
        }
    )
    assert split_classes(trees) == {"whole.Split": ["parts.A", "parts.B"]}


def test_methods_of_protocols_count_once_where_they_are_defined() -> None:
    trees = parsed(
        {
            "contract": "from other import Other\nclass Queue(Protocol):\n    def take(self): ...\n"
            "class Nudge(Protocol):\n    def __call__(self): ...\n"
            "class Store(Queue, Other, Protocol): pass\nclass Value:\n    def no(self): ...",
            "other": "class Other(Protocol):\n    async def give(self): ...",
            "third": "class Third(Protocol):\n    def unseen(self): ...",
        }
    )
    methods = protocol_methods(trees, "contract")
    assert methods == {"Queue": ["take"], "Nudge": [], "Store": [], "Other": ["give"]}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("lane._rows", ["_rows"]),
        ("from a import _b", ["_b"]),
        ("getattr(lane, '_rows', None)", ["_rows"]),
        ("self._rows\nsuper()._rows\nlane.__class__", []),
        ("class A:\n    def f(self, other):\n        self._a = other._a", []),
        ("def _f(): pass\nmodule._f", []),
    ],
)
def test_private_names_of_others_are_seen(source: str, found: list[str]) -> None:
    assert [name for _, name in foreign_private_names(ast.parse(source))] == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("base * 2 ** attempts", ["2 ** attempts"]),
        ("1 << attempts", ["1 << attempts"]),
        ("wait *= 2", ["wait *= 2"]),
        ("wait = min(60, wait * 2)", ["wait = min(60, wait * 2)"]),
        ("self.wait = 2 * self.wait", ["self.wait = 2 * self.wait"]),
        ("math.pow(2, n)", ["math.pow(2, n)"]),
        ("KB = 2**10\nwait = pause * 2", []),
    ],
)
def test_what_grows_exponentially_is_seen(source: str, found: list[str]) -> None:
    assert [what for _, what in powers(ast.parse(source))] == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("sleep(pause * 2)", ["sleep(pause * 2)"]),
        ("await asyncio.sleep(min(60, 2 ** n))", ["asyncio.sleep(min(60, 2 ** n))"]),
        ("event.wait(timeout=1 << n)", ["event.wait(timeout=1 << n)"]),
        ("loop.call_later(share * random(), f)", ["loop.call_later(share * random(), f)"]),
        ("sleep(due - now)\nwait = pause * 2\n', '.join(['a'] * 2)", []),
    ],
)
def test_a_wait_that_is_computed_where_it_is_waited_is_seen(source: str, found: list[str]) -> None:
    assert [what for _, what in computed_waits(ast.parse(source))] == found


def test_calls_are_seen_by_name_however_the_function_is_reached() -> None:
    tree = ast.parse("print(1)\nbuiltins.open('a')\nopen_hooks()\nprint")
    assert list(calls_of(tree, {"open", "print"})) == [(1, "print"), (2, "open")]


def test_structs_that_can_be_changed_are_seen() -> None:
    source = "class A(Struct): pass\nclass B(msgspec.Struct, frozen=True): pass\nclass C: pass"
    assert list(changeable_structs(ast.parse(source))) == ["A"]


def test_constants_are_seen_with_their_values() -> None:
    source = "A_B = 1\n_C: int = 2\nname = 3\nD: int\ndef f():\n    E = 4\nF_G, H_I = 5, 6"
    assert list(constants(ast.parse(source))) == [
        ("A_B", "1"),
        ("_C", "2"),
        ("F_G", "5"),
        ("H_I", "6"),
    ]

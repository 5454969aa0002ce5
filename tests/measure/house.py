"""Figures about the project, counted in its files: how much there is, and how it is built."""

import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tests.measure import structure
from tests.project_files import ROOT

CONTRACT = "tarry.service.store.contract"
ENGINE = "tarry.service.dispatch"
TRACER = ROOT / "tests/measure/delivery.py"
TEXT = {".css", ".html", ".js", ".py", ".sql", ".toml"}
"""Files of src that people write and read, by their endings."""

Figures = dict[str, int | str]


def figures(root: Path) -> Figures:
    """Count everything in the checkout or the unpacked revision at `root`."""
    sources = root / "src"
    paths = sorted(path for path in sources.rglob("*") if path.suffix in TEXT)
    trees = structure.modules(sources, paths)
    engine = [tree for name, tree in trees.items() if name.startswith(f"{ENGINE}.")]
    return {
        **sizes(sources / "tarry", paths),
        "longest file of src": longest_file(sources / "tarry", paths),
        "longest function of src": longest_function(trees),
        "methods of the store contract": sum(
            map(len, structure.protocol_methods(trees, CONTRACT).values())
        ),
        "import contracts": import_contracts(root),
        **words(root),
        "modules in import cycles": len(structure.in_cycles(trees)),
        "fields of dispatch written from outside": sum(
            len(list(structure.outside_writes(tree))) for tree in engine
        ),
        "classes split over files": len(structure.split_classes(trees)),
    }


def sizes(package: Path, paths: Collection[Path]) -> Figures:
    """Count files and lines, in all and for each folder of the package and of its service."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in paths:
        length = len(path.read_text().splitlines())
        for folder in folders(path.relative_to(package)):
            files[folder] += 1
            lines[folder] += length
    return {
        label: count[folder]
        for folder in sorted(files)
        for label, count in ((f"files in {folder}", files), (f"lines in {folder}", lines))
    }


def folders(path: Path) -> Iterator[str]:
    """Name the folders that a file of the package counts for: two levels below service, else one.

    Files directly in the package count for `src` alone.
    """
    yield "src"
    parents = path.parent.parts
    depth = 3 if parents[:2] == ("service", "store") else 2 if parents[:1] == ("service",) else 1
    for level in range(1, min(depth, len(parents)) + 1):
        yield "src/" + "/".join(parents[:level])


def longest_file(package: Path, paths: Collection[Path]) -> str:
    """Name the Python file with the most lines."""
    python = [path for path in paths if path.suffix == ".py"]
    lines, path = max((len(path.read_text().splitlines()), path) for path in python)
    return f"{lines} {path.relative_to(package)}"


def longest_function(trees: Mapping[str, ast.Module]) -> str:
    """Name the function with the most lines, signature and docstring left out."""
    lines, name = max(
        (lines, f"{module.removeprefix('tarry.')}.{function}")
        for module, tree in trees.items()
        for function, lines in structure.function_lengths(tree)
    )
    return f"{lines} {name}"


def import_contracts(root: Path) -> int:
    """Count the rules that import-linter checks."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    return len(settings["tool"]["importlinter"]["contracts"])


def words(root: Path) -> Figures:
    """Count the places that use `Any`, its imports left out, and the `noqa` comments."""
    counted: Figures = {}
    for folder in ("src", "tests"):
        texts = [path.read_text() for path in sorted((root / folder).rglob("*.py"))]
        counted[f"uses of Any in {folder}"] = sum(map(uses_of_any, texts))
        counted[f"noqa comments in {folder}"] = sum(map(noqa_comments, texts))
    return counted


def uses_of_any(text: str) -> int:
    """Count the expressions of a source that are named `Any`."""
    return sum(
        isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(ast.parse(text))
    )


def noqa_comments(text: str) -> int:
    """Count the comments of a source that switch a rule of the linter off."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(
        token.type == tokenize.COMMENT and bool(re.search(r"\bnoqa\b", token.string))
        for token in tokens
    )


def files_of_a_delivery(root: Path) -> list[str]:
    """Run one delivery with the sources at `root` and list the files that it passes through."""
    command = [sys.executable, str(TRACER)]
    variables = {**os.environ, "PYTHONPATH": str(root / "src")}
    run = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"no delivery could be made with {root / 'src'}:\n{run.stderr}")
    files: list[str] = json.loads(run.stdout)
    return files

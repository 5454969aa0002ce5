"""Figures about the project, counted in its files: how much there is, and how it is built.

A figure that a revision does not have is "-".
"""

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
from tests.measure.code_lines import Line, code_lines
from tests.measure.duplicates import Place, duplicates
from tests.measure.wheel import wheel_size
from tests.project_files import ROOT

CONTRACT = "tarry.service.store.contract"
ENGINE = "tarry.service.dispatch"
TRACER = ROOT / "tests/measure/delivery.py"
TRACER_SECONDS = 300.0
"""After this time the tracer is ended. It takes a few seconds."""
NONE = "-"
"""Shown instead of a figure that a revision does not have."""
TEXT = {".css", ".html", ".js", ".py", ".sql", ".toml"}
"""Files of src that people write and read, by their endings."""

Figures = dict[str, int | str]


class NoDeliveryError(Exception):
    """The tracer cannot follow a delivery in these sources; the text says why."""


def figures(root: Path) -> Figures:
    """Count everything in the checkout or the unpacked revision at `root`."""
    sources = root / "src"
    package = sources / "tarry"
    paths = texts_of(package)
    code = {path: code_lines(path) for path in paths}
    trees = structure.modules(sources, paths)
    engine = [tree for name, tree in trees.items() if name.startswith(f"{ENGINE}.")]
    size = wheel_size(root)
    return {
        **sizes(package, code),
        "longest file of src": longest_file(package, paths),
        "longest function of src": longest_function(trees),
        "methods of the store contract": contract_methods(trees),
        "import contracts": import_contracts(root),
        **words(root),
        "modules in import cycles": len(structure.in_cycles(trees)),
        "fields of dispatch written from outside": sum(
            len(list(structure.outside_writes(tree))) for tree in engine
        ),
        "classes split over files": len(structure.split_classes(trees)),
        "duplicate blocks of src": len(duplicates(package, code)),
        "wheel in kB": NONE if size is None else round(size / 1000),
    }


def texts_of(package: Path) -> list[Path]:
    """Return the files of a package that people write and read."""
    return sorted(path for path in package.rglob("*") if path.suffix in TEXT)


def duplicates_at(root: Path) -> list[tuple[Place, Place]]:
    """Return the pairs of places that share lines of code in the checkout at `root`."""
    package = root / "src" / "tarry"
    return duplicates(package, {path: code_lines(path) for path in texts_of(package)})


def sizes(package: Path, code: Mapping[Path, Collection[Line]]) -> Figures:
    """Count files and lines, in all and for each folder of the package and of its service.

    Lines of code are counted for the package and for its top folders. `code` has them.
    """
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    lines_of_code: Counter[str] = Counter()
    for path, code_of_file in code.items():
        length = len(path.read_text().splitlines())
        for folder in folders(path.relative_to(package)):
            files[folder] += 1
            lines[folder] += length
            if folder.count("/") <= 1:
                lines_of_code[folder] += len(code_of_file)
    kinds = {"files": files, "lines": lines, "code lines": lines_of_code}
    return {
        f"{kind} in {folder}": count[folder]
        for folder in sorted(files)
        for kind, count in kinds.items()
        if folder in count
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


def contract_methods(trees: Mapping[str, ast.Module]) -> int | str:
    """Count the methods of the store contract."""
    if CONTRACT not in trees:
        return NONE
    return sum(map(len, structure.protocol_methods(trees, CONTRACT).values()))


def import_contracts(root: Path) -> int:
    """Count the rules that import-linter checks."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    return len(settings["tool"].get("importlinter", {}).get("contracts", []))


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
    """Run one delivery with the sources at `root` and list the files that it passes through.

    Raise `NoDeliveryError` if that cannot be done. The tracer knows the dispatcher as it is now,
    and an earlier one may have other parts.
    """
    command = [sys.executable, str(TRACER)]
    variables = {**os.environ, "PYTHONPATH": str(root / "src")}
    try:
        run = subprocess.run(
            command,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=TRACER_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise NoDeliveryError(f"it did not end within {TRACER_SECONDS:g} s") from None
    if run.returncode:
        raise NoDeliveryError((run.stderr.strip() or "it printed nothing").splitlines()[-1])
    files: list[str] = json.loads(run.stdout)
    return files

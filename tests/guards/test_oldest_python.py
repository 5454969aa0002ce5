"""The project uses nothing that Python 3.11.0, the oldest supported one, does not have.

Three checks share the work, and this file holds the last one:

- ruff refuses newer syntax (`target-version`).
- mypy refuses names and arguments of Python 3.12 and later (`python_version`), because typeshed
  marks them with their minor version.
- Typeshed does not mark what a patch release of 3.11 has added, such as the tar filters of 3.11.4:
  mypy accepts them, and Debian 12 with its 3.11.2 fails. The tables below list them. They follow
  "Notable changes in 3.11.x" in Python's own documentation and typeshed's comments. `flush` of the
  XML parsers (3.11.9) is left out: too many other objects have a method of that name.

Mypy reads neither the examples of Markdown pages nor programs inside of strings. This file looks
for the additions of patch releases there, too. Only a run on the oldest Python finds the rest.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.project_files import ROOT, project_files

NEW_NAMES = {
    "AbsoluteLinkError": "3.11.4",
    "AbsolutePathError": "3.11.4",
    "FilterError": "3.11.4",
    "LinkOutsideDestinationError": "3.11.4",
    "OutsideDestinationError": "3.11.4",
    "SpecialFileError": "3.11.4",
    "data_filter": "3.11.4",
    "extraction_filter": "3.11.4",
    "fully_trusted_filter": "3.11.4",
    "tar_filter": "3.11.4",
    "GetReparseDeferralEnabled": "3.11.9",
    "SetReparseDeferralEnabled": "3.11.9",
    "HeaderWriteError": "3.11.10",
    "verify_generated_headers": "3.11.10",
    "ALLOW_MISSING": "3.11.13",
    "LinkFallbackError": "3.11.13",
    "SetAllocTrackerActivationThreshold": "3.11.14",
    "SetAllocTrackerMaximumAmplification": "3.11.14",
    "SetBillionLaughsAttackProtectionActivationThreshold": "3.11.15",
    "SetBillionLaughsAttackProtectionMaximumAmplification": "3.11.15",
}
"""Attributes and arguments, with the patch release that added them."""
NEW_ARGUMENTS = {
    ("extract", "filter"): "3.11.4",
    ("extractall", "filter"): "3.11.4",
    ("unpack_archive", "filter"): "3.11.4",
    ("getaddresses", "strict"): "3.11.10",
    ("parseaddr", "strict"): "3.11.10",
    ("HTMLParser", "scripting"): "3.11.15",
}
"""Arguments of functions that are older, with the patch release that added them."""
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
POSSESSIVE = re.compile(r"[^\\(]\)[*+?]\+")
"""A possessive repeat of a group in a regular expression."""


def programs(path: Path) -> Iterator[ast.Module]:
    """Give the Python programs of a file: the file itself, or the examples of a page."""
    text = path.read_text()
    if path.suffix == ".md":
        yield from (ast.parse(example) for example in EXAMPLE.findall(text))
    elif path.suffix == ".py" or text.startswith("#!/usr/bin/env python"):
        yield ast.parse(text)


def too_new(program: ast.Module) -> Iterator[str]:
    """Name what a program uses, or hands to another Python as text, and Python 3.11.0 lacks."""
    for node in ast.walk(program):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                if name in NEW_NAMES:
                    yield f"{name} is new in {NEW_NAMES[name]}"
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), keywords=keywords):
                for keyword in keywords:
                    release = NEW_ARGUMENTS.get((name, keyword.arg or ""))
                    release = release or NEW_NAMES.get(keyword.arg or "")
                    if release:
                        yield f"{name}({keyword.arg}=) is new in {release}"
            case ast.Constant(value=str(text)) if "import " in text:
                yield from too_new(parsed(text))
            case ast.Constant(value=str() | bytes() as text) if POSSESSIVE.search(repr(text)):
                yield f"{text!r} repeats a group possessively: 3.11.2 matches that wrongly"


def parsed(text: str) -> ast.Module:
    """Parse a string as a program; one without statements if it is none."""
    try:
        return ast.parse(dedent(text))
    except SyntaxError:
        return ast.Module([], [])


def test_nothing_newer_than_the_oldest_python_is_used() -> None:
    kinds = {".py", ".md", ""}
    looked_at = [
        (path, program)
        for path in project_files()
        if path.suffix in kinds and path != Path(__file__)
        for program in programs(path)
    ]
    assert {ROOT / "dev", ROOT / "README.md", ROOT / "tests/project_files.py"} <= {
        path for path, _ in looked_at
    }
    found = [
        f"{path.relative_to(ROOT)}: {what}"
        for path, program in looked_at
        for what in too_new(program)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "used",
    [
        "archive.extractall(folder, filter='data')",
        "tarfile.TarFile.extraction_filter = None",
        "from tarfile import data_filter",
        "email.policy.default.clone(verify_generated_headers=False)",
        "re.compile(r'(?:a|b+)*+c')",
        "re.compile(rb'(a)?+')",
        "CHILD = '''\n    import shutil\n    shutil.unpack_archive(name, filter='data')\n'''",
    ],
)
def test_what_a_patch_release_has_added_is_noticed(used: str) -> None:
    assert len(list(too_new(ast.parse(used)))) == 1


def test_what_is_old_is_left_alone() -> None:
    old = (
        "archive.add(name, filter=None)\nlist(filter(None, names))\nprint('import of data failed')"
    )
    assert not list(too_new(ast.parse(old)))


def test_mypy_and_ruff_check_for_the_oldest_python() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    oldest = settings["project"]["requires-python"].removeprefix(">=")
    assert settings["tool"]["mypy"]["python_version"] == oldest
    assert settings["tool"]["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"

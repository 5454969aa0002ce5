"""Find pairs of places that share six or more equal lines of code.

Lines are compared without indentation, and with each run of blanks as one. Blank lines, comments
and docstrings do not count. Nor do imports, because two modules that use the same names have to
import them, nor lines without a letter or a digit. So the six lines need not be adjacent in the
file, but no other line of code is between them.

A pair is counted once, however long it is. A text that is in three places makes three pairs. Places
in one file do not overlap. Lines that are equal but for a name are not found: this counts copies
and not likeness.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from tests.measure.code_lines import Line

LEAST = 6
"""Equal lines that make a pair."""
LANGUAGES = {".css", ".js", ".py", ".sql"}
"""Endings of code. TOML and HTML are data."""
IMPORT_OF_JS = re.compile(r"^import\b.*;$")


class Place(NamedTuple):
    """Where some equal lines are: the file, and the numbers of the first and the last line."""

    file: str
    first: int
    last: int

    def __str__(self) -> str:
        """Return the place as editors write it."""
        return f"{self.file}:{self.first}-{self.last}"


class _Start(NamedTuple):
    """A line of a file, by the index in the list of files and in the file's compared lines."""

    file: int
    line: int


def duplicates(package: Path, code: Mapping[Path, Collection[Line]]) -> list[tuple[Place, Place]]:
    """Return the pairs of places in files below `package`, in the order of the files.

    `code` are the lines of code of each file.
    """
    files = [path for path in sorted(code) if path.suffix in LANGUAGES]
    compared = [list(_compared(path, code[path])) for path in files]
    texts = [[text for _, text in lines] for lines in compared]

    def place(start: _Start, length: int) -> Place:
        lines = compared[start.file]
        name = str(files[start.file].relative_to(package))
        return Place(name, lines[start.line][0], lines[start.line + length - 1][0])

    pairs = []
    for starts in _equal_starts(texts):
        for one, other in combinations(starts, 2):
            length = _shared(texts, one, other)
            if length >= LEAST and not _starts_earlier(texts, one, other):
                pairs.append((place(one, length), place(other, length)))
    return sorted(pairs)


def _compared(path: Path, code: Collection[Line]) -> Iterator[Line]:
    """Yield those lines of a file's code that are compared."""
    left_out = _numbers_of_imports(path.read_text()) if path.suffix == ".py" else set[int]()
    for number, line in code:
        is_import = number in left_out or (path.suffix == ".js" and IMPORT_OF_JS.match(line))
        if not is_import and re.search(r"\w", line):
            yield number, " ".join(line.split())


def _numbers_of_imports(text: str) -> set[int]:
    return {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _equal_starts(texts: Sequence[Sequence[str]]) -> Iterator[list[_Start]]:
    """Group the lines with which the same `LEAST` lines start; leave out those without a twin."""
    groups = defaultdict[tuple[str, ...], list[_Start]](list)
    for file, lines in enumerate(texts):
        for line in range(len(lines) - LEAST + 1):
            groups[tuple(lines[line : line + LEAST])].append(_Start(file, line))
    return (starts for starts in groups.values() if len(starts) > 1)


def _shared(texts: Sequence[Sequence[str]], one: _Start, other: _Start) -> int:
    """Count the equal lines from two starts on, until they differ or would overlap."""
    first, second = texts[one.file][one.line :], texts[other.file][other.line :]
    most = min(len(first), len(second))
    if one.file == other.file:
        most = min(most, abs(other.line - one.line))
    return next((count for count in range(most) if first[count] != second[count]), most)


def _starts_earlier(texts: Sequence[Sequence[str]], one: _Start, other: _Start) -> bool:
    """Tell whether the lines before two starts are equal too: then the pair starts there."""
    if min(one.line, other.line) == 0:
        return False
    return texts[one.file][one.line - 1] == texts[other.file][other.line - 1]

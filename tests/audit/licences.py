"""Does every package that tarry needs at run time have a licence that is allowed?"""

import re
from collections.abc import Callable, Iterable
from importlib.metadata import metadata, requires
from typing import Protocol

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from tests.audit.check import Result, result

ALLOWED = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0"),
        *("MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib"),
    }
)
"""Licences by their SPDX names. All of them let a service be built on the package; none asks for
the source of what uses it. MPL-2.0 asks for the source of changes to the package itself."""

SPELLINGS = {
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd license": "BSD-3-Clause",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "any-osi": "Zlib",  # apsw: its file LICENSE offers the licence of zlib among others
}
"""The SPDX names of what older packages write."""
_WORD = re.compile(r"[A-Za-z0-9.+-]+|\(|\)")

Requires = Callable[[str], Iterable[str] | None]


class Fields(Protocol):
    """What a package says of itself."""

    def get_all(self, name: str, failobj: None = None) -> list[str] | None:
        """Return all values of a field; None if there is none."""


def check_licences(
    read: Callable[[str], Fields] = metadata, needs: Requires = requires, root: str = "tarry"
) -> Result:
    """Check the packages that tarry with all extras needs, and those that these need."""
    names = sorted(needed_by(root, "all", needs) - {canonicalize_name(root)})
    problems = []
    for name in names:
        found = licences(read(name))
        if not found:
            problems.append(f"{name} names no licence")
        elif not any(is_allowed(one) for one in found):
            problems.append(f"{name} has the licence {' / '.join(found)}, which is not allowed")
    if not names:
        problems.append("no package was checked")
    return result(f"{len(names)} packages at run time", problems)


def needed_by(root: str, extra: str, needs: Requires) -> set[NormalizedName]:
    """Return a package with an extra and all that it needs on this machine."""
    seen: set[tuple[str, str]] = set()
    left = [(root, ""), (root, extra)]
    while left:
        name, wanted = left.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        for text in needs(name) or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or marker.evaluate({"extra": wanted}):
                needed = canonicalize_name(requirement.name)
                left += [(needed, ""), *((needed, one) for one in requirement.extras)]
    return {canonicalize_name(name) for name, _ in seen}


def licences(fields: Fields) -> list[str]:
    """Return what a package says of its licence; any one of the answers is enough."""
    if expressions := fields.get_all("License-Expression"):
        return expressions
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in fields.get_all("Classifier") or ()
        if text.startswith("License :: ")
    ]
    text = "".join(fields.get_all("License") or ()).strip()
    named = [text] if text and len(text) < len("MIT OR Apache-2.0") * 2 else []
    return [SPELLINGS.get(one.lower(), one) for one in (*named, *classifiers)]


def is_allowed(expression: str) -> bool:
    """Return whether an SPDX expression can be met with allowed licences only."""
    words = _WORD.findall(expression)
    if "".join(words) != re.sub(r"\s+", "", expression):
        return False
    if all(word not in ("AND", "OR", "WITH", "(", ")") for word in words):
        return len(words) == 1 and words[0] in ALLOWED
    terms = [one if one in ("AND", "OR", "(", ")") else str(one in ALLOWED) for one in words]
    return _value(terms)


def _value(terms: list[str]) -> bool:
    """Return the value of terms joined by AND and OR, with parentheses; AND binds closer."""
    while "(" in terms:
        start = len(terms) - 1 - terms[::-1].index("(")
        end = start + terms[start:].index(")") if ")" in terms[start:] else start
        if end == start:
            return False
        terms = [*terms[:start], str(_value(terms[start + 1 : end])), *terms[end + 1 :]]
    groups = " ".join(terms).split(" OR ")
    return any(all(term == "True" for term in group.split(" AND ")) for group in groups)

"""Is an advisory known for a version that the locks pin?

The advisories come from a folder of files in the OSV format, such as an unpacked export of the
PyPI ecosystem. Nothing is fetched. Without a folder nothing is checked, and the audit says so.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypedDict

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tests.audit.check import Result, State, result
from tests.audit.locks import Pinned

VARIABLE = "TARRY_ADVISORIES"


class Range(TypedDict, total=False):
    """Versions from each `introduced` to the next `fixed` or `last_affected`."""

    type: str
    events: list[dict[str, str]]


class Entry(TypedDict, total=False):
    """The affected versions of one package."""

    package: dict[str, str]
    versions: list[str]
    ranges: list[Range]


class Advisory(TypedDict, total=False):
    """The fields of an OSV file that are used."""

    id: str
    summary: str
    details: str
    withdrawn: str
    affected: list[Entry]


def check_advisories(folder: Path | None, packages: Iterable[Pinned]) -> Result:
    """Compare the locked packages with the advisories of a folder."""
    if folder is None:
        hint = f"--advisories FOLDER or {VARIABLE} names a folder of OSV files"
        return Result(State.NOT_CHECKED, f"no source of advisories: {hint}")
    files = sorted(folder.rglob("*.json")) if folder.is_dir() else []
    by_name: dict[str, list[Pinned]] = {}
    for package in packages:
        by_name.setdefault(package.name, []).append(package)
    problems, read = [], 0
    for file in files:
        try:
            advisory: Advisory = json.loads(file.read_text())
            identifier, affected = str(advisory["id"]), advisory["affected"]
            read += 1
            if advisory.get("withdrawn"):
                continue
            for entry in affected:
                place = entry["package"]
                if place["ecosystem"] == "PyPI":
                    name = canonicalize_name(place["name"])
                    problems += _found(identifier, advisory, entry, by_name.get(name, []))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problems.append(f"{file.name} cannot be read as an advisory: {error!r}")
    if not read:
        problems.append(f"{folder} has no advisories, so nothing was compared")
    names = len(by_name)
    return result(f"{names} packages, {read} advisories", sorted(set(problems)))


def _found(identifier: str, advisory: Advisory, entry: Entry, packages: list[Pinned]) -> list[str]:
    """Return a line for each package whose version an entry of an advisory affects."""
    summary = str(advisory.get("summary") or advisory.get("details") or "")[:80]
    return [
        f"{package.name} {package.version} ({package.lock}): {identifier} {summary}".strip()
        for package in packages
        if is_affected(package.version, entry)
    ]


def is_affected(version: str, entry: Entry) -> bool:
    """Return whether an entry of an advisory names a version, or a range with it."""
    if version in entry.get("versions", ()):
        return True
    ranges = [one for one in entry.get("ranges", ()) if one.get("type") in ("ECOSYSTEM", "SEMVER")]
    return any(_is_in(Version(version), one["events"]) for one in ranges)


def _is_in(version: Version, events: Iterable[Mapping[str, str]]) -> bool:
    """Return whether the events of a range, in the order of their versions, end on affected."""
    affected = False
    for event in sorted(events, key=_version_of):
        at = _version_of(event)
        if "introduced" in event and version >= at:
            affected = True
        elif ("fixed" in event and version >= at) or ("last_affected" in event and version > at):
            affected = False
    return affected


def _version_of(event: Mapping[str, str]) -> Version:
    """Return the version of an event; "0" is before all versions."""
    (text,) = event.values()
    try:
        return Version("0.dev0" if text == "0" else text)
    except InvalidVersion as error:
        raise ValueError(f"version {text!r}") from error

"""The comparison with advisories fails on a version that one of them names."""

import json
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.audit.advisories import check_advisories, is_affected
from tests.audit.check import State
from tests.audit.locks import Pinned

PACKAGES = [Pinned(canonicalize_name("some-package"), "1.5", None, (), "dev.txt")]


def advisory(folder: Path, *, name: str = "Some_Package", **more: object) -> Path:
    entry = {"package": {"ecosystem": "PyPI", "name": name}, "versions": ["1.4", "1.5"]}
    text = json.dumps({"id": "PYSEC-1", "summary": "It leaks.", "affected": [entry], **more})
    folder.mkdir(exist_ok=True)
    (folder / "PYSEC-1.json").write_text(text)
    return folder


def test_an_affected_package_is_found(tmp_path: Path) -> None:
    found = check_advisories(advisory(tmp_path), PACKAGES)
    assert found.state is State.FAILED
    assert found.problems == ("some-package 1.5 (dev.txt): PYSEC-1 It leaks.",)
    assert found.summary == "1 packages, 1 advisories"


def test_advisories_for_others_and_those_that_were_withdrawn_are_none(tmp_path: Path) -> None:
    for folder in (
        advisory(tmp_path / "a", name="another"),
        advisory(tmp_path / "b", withdrawn="2026-01-01T00:00:00Z"),
    ):
        assert check_advisories(folder, PACKAGES).state is State.OK


def test_without_a_source_nothing_is_said_to_be_well() -> None:
    found = check_advisories(None, PACKAGES)
    assert found.state is State.NOT_CHECKED
    assert "TARRY_ADVISORIES" in found.summary


def test_a_source_that_is_none_fails(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        found = check_advisories(folder, PACKAGES)
        assert found.state is State.FAILED
        assert "has no advisories, so nothing was compared" in found.problems[0]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"id": "a", "affected": [1]}'])
def test_a_file_that_is_no_advisory_fails(tmp_path: Path, text: str) -> None:
    advisory(tmp_path, name="another")
    (tmp_path / "broken.json").write_text(text)
    found = check_advisories(tmp_path, PACKAGES)
    assert found.state is State.FAILED
    assert "broken.json cannot be read as an advisory" in found.problems[0]


@pytest.mark.parametrize(
    ("version", "events", "expected"),
    [
        ("1.5", [{"introduced": "0"}], True),
        ("1.5", [{"introduced": "0"}, {"fixed": "1.5"}], False),
        ("1.5", [{"introduced": "0"}, {"fixed": "1.10"}], True),
        ("1.5", [{"fixed": "1.10"}, {"introduced": "1.6"}], False),
        ("1.5", [{"introduced": "1.2"}, {"last_affected": "1.5"}], True),
        ("1.6", [{"introduced": "1.2"}, {"last_affected": "1.5"}], False),
        ("3.1", [{"introduced": "0"}, {"fixed": "2"}, {"introduced": "3"}], True),
        ("1.5rc1", [{"introduced": "1.5"}], False),
    ],
)
def test_a_range_says_what_is_affected(
    version: str, events: list[dict[str, str]], *, expected: bool
) -> None:
    assert is_affected(version, {"ranges": [{"type": "ECOSYSTEM", "events": events}]}) is expected
    assert not is_affected(version, {"ranges": [{"type": "GIT", "events": events}]})

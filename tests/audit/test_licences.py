"""The check of licences fails on one that is not allowed, and on none."""

from email.message import Message

import pytest

from tests.audit.check import State
from tests.audit.licences import check_licences, is_allowed, licences, needed_by


def described(**fields: str) -> Message:
    message = Message()
    for name, value in fields.items():
        message[name.replace("_", "-")] = value
    return message


NEEDS = {"tarry": ['one ; extra == "all"', 'two ; extra == "other"'], "one": ["three[x]"]}
NEEDS |= {"three": ['four ; extra == "x"', 'five ; python_version < "3"']}


def test_the_packages_of_all_extras_are_followed() -> None:
    assert needed_by("tarry", "all", NEEDS.get) == {"tarry", "one", "three", "four"}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"License_Expression": "AGPL-3.0-only"}, "one has the licence AGPL-3.0-only, which"),
        ({"License_Expression": "MIT AND GPL-3.0-only"}, "one has the licence MIT AND GPL"),
        ({"License": "Proprietary"}, "one has the licence Proprietary, which"),
        ({"Classifier": "License :: OSI Approved :: GNU General Public License v3"}, "one has"),
        ({"License": "a long text " * 50}, "one names no licence"),
        ({}, "one names no licence"),
    ],
)
def test_a_licence_that_is_not_allowed_fails(fields: dict[str, str], problem: str) -> None:
    found = check_licences(lambda _: described(**fields), {"tarry": ["one"]}.get)
    assert found.state is State.FAILED
    assert found.problems[0].startswith(problem)


def test_allowed_ones_pass_and_no_packages_do_not() -> None:
    allowed = described(License_Expression="MIT")
    found = check_licences(lambda _: allowed, {"tarry": ["one"]}.get)
    assert (found.state, found.summary) == (State.OK, "1 packages at run time")
    assert check_licences(lambda _: allowed, {"x": ["y"]}.get).state is State.FAILED


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("mit", False),
        ("GPL-2.0-only OR MIT", True),
        ("MIT AND Apache-2.0", True),
        ("MIT AND GPL-2.0-only OR Zlib", True),
        ("MIT AND (GPL-2.0-only OR Zlib)", True),
        ("(MIT OR Zlib) AND GPL-2.0-only", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MIT License; see LICENSE", False),
        ("MIT BSD-3-Clause", False),
        ("(MIT", False),
        ("", False),
    ],
)
def test_an_expression_is_met_with_allowed_licences_only(
    expression: str, *, expected: bool
) -> None:
    assert is_allowed(expression) is expected


def test_older_spellings_are_known() -> None:
    assert licences(described(License="Apache 2.0")) == ["Apache-2.0"]
    mit = described(Classifier="License :: OSI Approved :: MIT License")
    assert licences(mit) == ["MIT"]

import math
import subprocess
import sys
import tomllib
from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Schedule
from tarry.core.codec import to_dict
from tarry.core.jitter import Percent
from tarry.core.policy import Policy
from tarry.core.text import PARSERS, from_json, from_toml, parse_json, parse_toml, to_json, to_toml
from tarry.errors import PolicyFormatError

NO_EQUALS = "valid TOML: Expected '=' after a key in a key/value pair"


class OtherPolicy(Policy, init=False):
    """Adds behaviour and no field."""


DEFAULT_TOML = """\
version = 1
name = ""
attempts = 5
within = 45.0
attempt_timeout = "unlimited"
nested = false

[backoff]
kind = "exponential"
base = 0.1
factor = 2.0
cap = 10.0

[jitter]
kind = "smooth"

[retry_after]
honour = true
at_most = 60.0

[statuses]
retry = [408, 425, 429, 500, 502, 503, 504]
never = [400, 401, 403, 404, 410, 422]

[probe]
late = 0.05
late_large = 0.01
large = 1000
steady = 3600.0
at_most = 3600.0
"""


def test_a_policy_reads_well_as_toml() -> None:
    assert to_toml(Policy()) == DEFAULT_TOML
    assert from_toml(DEFAULT_TOML) == Policy()


def test_a_policy_reads_well_as_json() -> None:
    text = to_json(Policy(name="Bücher"))
    assert text.startswith('{\n  "version": 1,\n  "name": "Bücher",\n  "attempts": 5,\n')
    assert text.endswith("}\n")
    assert from_json(text) == Policy(name="Bücher")


def test_a_hand_written_file_needs_only_what_differs() -> None:
    text = """
        attempts = 9
        within = 432_000

        [backoff]
        kind = "schedule"
        delays = [10, 30.5]

        [jitter]
        kind = "percent"
        share = 0.2
    """
    wanted = Policy(attempts=9, within=432_000, backoff=Schedule([10, 30.5]), jitter=Percent(0.2))
    assert from_toml(text) == wanted


def test_a_subclass_can_be_read() -> None:
    policies = from_toml("attempts = 2", OtherPolicy), from_json('{"attempts": 2}', OtherPolicy)
    for policy in policies:
        assert type(policy) is OtherPolicy
        assert policy == Policy(attempts=2)


@given(policy=st.from_type(Policy))
def test_text_reads_back_the_same(policy: Policy) -> None:
    assert from_json(to_json(policy)) == policy
    assert from_toml(to_toml(policy)) == policy
    assert tomllib.loads(to_toml(policy)) == to_dict(policy)


@pytest.mark.parametrize(
    "name", ['"', "\\", "\n", "\r\n", "\x00", "\x1f", "\x7f", "\u2028", "'''", "#", "😀"]
)
def test_any_letter_can_be_in_a_name(name: str) -> None:
    policy = Policy(name=f"a{name}b")
    assert from_toml(to_toml(policy)) == from_json(to_json(policy)) == policy


def test_a_file_s_suffix_says_how_it_is_read() -> None:
    assert {".toml": parse_toml, ".json": parse_json} == PARSERS


@pytest.mark.parametrize(
    ("text", "path", "value", "wanted"),
    [
        ("attempts 5", "line 1", "attempts 5", f"{NO_EQUALS} (column 10)"),
        ("a = 1\r\nb = ?\r\nc = 3", "line 2", "b = ?", "valid TOML: Invalid value (column 5)"),
        (f"a = 1\n{'b' * 59} c", "line 2", f"{'b' * 59} …", f"{NO_EQUALS} (column 61)"),
        (f"a = 1\n{'b' * 58} c", "line 2", f"{'b' * 58} c", f"{NO_EQUALS} (column 60)"),
        ("b = ? \r\n", "line 1", "b = ? ", "valid TOML: Invalid value (column 5)"),
        ("a = [1", "document", "a = [1", "valid TOML: Unclosed array (at end of document)"),
    ],
    ids=map(str, count(1)),
)
def test_broken_toml_says_where(text: str, path: str, value: str, wanted: str) -> None:
    with pytest.raises(PolicyFormatError) as caught:
        from_toml(text)
    assert (caught.value.path, caught.value.value, caught.value.wanted) == (path, value, wanted)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "path", "value", "wanted"),
    [
        ("", "line 1", "", "valid JSON: Expecting value (column 1)"),
        ('{\n "a": 1,\n "b": ?\n}', "line 3", ' "b": ?', "valid JSON: Expecting value (column 7)"),
        ('{"attempts": 1} 2', "line 1", '{"attempts": 1} 2', "valid JSON: Extra data (column 17)"),
        ('{"attempts": 1, "attempts": 2}', "attempts", 2, "given once; it was 1 before"),
        ('{"jitter": {"a": "b", "a": "c"}}', "a", "c", "given once; it was 'b' before"),
        ("[]", "policy", [], "a table of keys and values"),
        ('{"nested": NaN}', "nested", pytest.approx(math.nan, nan_ok=True), "true or false"),
        ('{"nested": null}', "nested", None, "true or false"),
    ],
    ids=map(str, count(1)),
)
def test_broken_json_says_where(text: str, path: str, value: object, wanted: str) -> None:
    with pytest.raises(PolicyFormatError) as caught:
        from_json(text)
    assert (caught.value.path, caught.value.value, caught.value.wanted) == (path, value, wanted)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("parse", "text", "language"),
    [
        (parse_toml, "a = " + "9" * 5_000, "TOML"),
        (parse_toml, "a = " + "[" * 50_000, "TOML"),
        (parse_json, "9" * 5_000, "JSON"),
        (parse_json, "[" * 500_000, "JSON"),
    ],
    ids=["toml number", "toml nesting", "json number", "json nesting"],
)
def test_text_beyond_all_bounds_is_refused_too(
    parse: Callable[[str], object], text: str, language: str
) -> None:
    with pytest.raises(PolicyFormatError) as caught:
        parse(text)
    assert caught.value.path == "document"
    assert caught.value.value == text[:60] + "…"
    assert caught.value.wanted.startswith(f"valid {language}: ")
    assert caught.value.__cause__ is None


@given(text=st.text())
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    for read in (from_toml, from_json):
        try:
            policy = read(text)
        except PolicyFormatError:
            continue
        assert isinstance(policy, Policy)


def test_a_program_that_reads_no_files_loads_no_parser() -> None:
    asked = "import sys, tarry, tarry.core.codec; print({'json', 'tomllib'} & {*sys.modules})"
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"

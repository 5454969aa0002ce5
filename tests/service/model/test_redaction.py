import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.errors import SettingsError
from tarry.service.model.redaction import MOST_RULES, MOST_STEPS, Redaction

HIDDEN = "[redacted]"


def redacted(body: str, *rules: str) -> str:
    return Redaction.of(rules).redact(body.encode()).decode()


@pytest.mark.parametrize(
    ("rule", "body", "shown"),
    [
        ("$.a", '{"a": 1, "b": {"a": 2}}', '{"a": "[redacted]", "b": {"a": 2}}'),
        ("$.a.b", '{"a":{"b":[1]},"b":2}', '{"a":{"b":"[redacted]"},"b":2}'),
        ("$['a b']", '{"a b": 1}', '{"a b": "[redacted]"}'),
        ("$.a-b", '{"a-b": 1}', '{"a-b": "[redacted]"}'),
        ("$['$']['.*']", '{"$": {".*": 1, "x": 2}}', '{"$": {".*": "[redacted]", "x": 2}}'),
        ("$.имя", '{"имя": 1}', '{"имя": "[redacted]"}'),
        ("$.a[*].b", '{"a": [{"b": 1}, {"c": 2}, 3]}', '{"a": [{"b": "[redacted]"}, {"c": 2}, 3]}'),
        ("$.a.b", '{"a": [{"b": 1}]}', '{"a": [{"b": 1}]}'),
        ("$[*]", '[1, {"a": 2}]', '["[redacted]", "[redacted]"]'),
        ("$.*.b", '{"x": {"b": 1}, "b": 2}', '{"x": {"b": "[redacted]"}, "b": 2}'),
        (
            "$..b",
            '[{"b": {"b": 1}}, [[{"b": 2}]]]',
            '[{"b": "[redacted]"}, [[{"b": "[redacted]"}]]]',
        ),
        ("$..['x y']", '{"a": {"x y": 1}}', '{"a": {"x y": "[redacted]"}}'),
        ("$.a..b", '{"b": 1, "a": {"c": {"b": 2}}}', '{"b": 1, "a": {"c": {"b": "[redacted]"}}}'),
        ("$..a[*]", '{"a": [{"a": [1]}, 2]}', '{"a": ["[redacted]", "[redacted]"]}'),
        ("$.a", '{"A": 1}', '{"A": 1}'),
        ("$.a", r'{"\u0061": 1, "a": 2}', r'{"\u0061": "[redacted]", "a": "[redacted]"}'),
        ("$.a", '{"b": "{\\"a\\": 1}"}', '{"b": "{\\"a\\": 1}"}'),
        ("header:a", '{"a": 1}', '{"a": 1}'),
    ],
)
def test_a_path_hides_what_it_leads_to_and_nothing_else(rule: str, body: str, shown: str) -> None:
    assert redacted(body, rule) == shown


def test_several_rules_hide_what_any_of_them_leads_to() -> None:
    body = '{"a": {"b": 1, "c": 2}, "d": 3, "e": [{"b": 4}]}'
    shown = '{"a": {"b": "[redacted]", "c": 2}, "d": "[redacted]", "e": [{"b": "[redacted]"}]}'
    assert redacted(body, "$.a.b", "$.d", "$.e[*].b", "$.nothing", "header:d") == shown
    assert redacted(body, "$.a", "$.a.b") == body.replace('{"b": 1, "c": 2}', f'"{HIDDEN}"')


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("", ""),
        ("Bad gateway", "Bad gateway"),
        ("<html><b>no</b></html>", "<html><b>no</b></html>"),
        ("password=1", "password=1"),
        ('"password', '"password'),
        ('{"password": "1', "[redacted: not complete JSON]"),
        ('error: {"password": 1}', "[redacted: not complete JSON]"),
        ('{"password": 1}\n{"password": 2}', "[redacted: not complete JSON]"),
        ("[[1, 2]", "[redacted: not complete JSON]"),
        ("{'password': 1}", "[redacted: not complete JSON]"),
    ],
)
def test_a_body_that_cannot_be_searched_is_hidden_unless_it_has_no_brackets(
    body: str, shown: str
) -> None:
    assert redacted(body, "$..password") == shown
    assert redacted(body, "header:password") == body


def test_headers_are_named_without_case() -> None:
    redaction = Redaction.of(["header:X-Customer", "HEADER:x-customer", "header:Cookie"])
    assert redaction.headers == {"x-customer", "cookie"}


@pytest.mark.parametrize(
    "rule",
    [
        *(
            "",
            "$",
            "a",
            ".a",
            "$a",
            "$.",
            "$..",
            "$.a.",
            "$...a",
            "$[0]",
            "$['a'",
            "$['']",
            '$["a"]',
        ),
        *(
            "$..*",
            "$..[*]",
            "$.a b",
            "$.a[?(@.b)]",
            "$.a[1:2]",
            "$.a,b",
            "$.a ",
            " $.a",
            "$['it's']",
        ),
        *("header:", "header:a b", "header: a", "header:a:b", "headers:a", "x-customer"),
        "$" + ".a" * (MOST_STEPS + 1),
    ],
)
def test_any_other_rule_is_refused_by_its_name(rule: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Redaction.of(["$.fine", rule])
    assert refused.value.field == "redact"
    assert repr(rule) in str(refused.value)
    assert "$.card.number" in str(refused.value)


def test_there_may_be_so_many_rules() -> None:
    rules = [f"$..a{number}..b" for number in range(MOST_RULES)]
    body = '{"a7": {"a99": {"b": 1}}, "b": 2}'
    assert redacted(body, *rules) == body.replace("1", f'"{HIDDEN}"')
    with pytest.raises(SettingsError, match="101 rules"):
        Redaction.of([*rules, "header:a"])


class Pairs(list[tuple[str, object]]):
    """The fields of an object, also those with the same name."""


STEPS = st.sampled_from([".a", ".b", "['é']", "[*]", "..a", "..b"])
NAMES = st.sampled_from(["a", "b", "é", "c", "\\", '"'])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('{}[]",:\\a é'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(st.tuples(NAMES, inner), max_size=4).map(Pairs)
    ),
    max_leaves=30,
)


def written(value: object) -> str:
    """Write a value with all fields of its objects."""
    if isinstance(value, Pairs):
        fields = (f"{json.dumps(name)}: {written(inner)}" for name, inner in value)
        return f"{{{', '.join(fields)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    return json.dumps(value, ensure_ascii=False)


def expected(value: object, rules: list[list[str]]) -> object:
    """Redact a decoded value, rule by rule."""
    if [] in rules:
        return HIDDEN

    def below(name: str | None) -> list[list[str]]:
        rest = [rule for rule in rules if rule[0].startswith("..")]
        for first, *others in rules:
            if first == "[*]" or first in (f".{name}", f"..{name}", f"['{name}']"):
                rest.append(others)
        return rest

    if isinstance(value, Pairs):
        return Pairs((name, expected(inner, below(name))) for name, inner in value)
    if isinstance(value, list):
        return [expected(inner, below(None)) for inner in value]
    return value


@given(
    value=VALUES, rules=st.lists(st.lists(STEPS, min_size=1, max_size=4), min_size=1, max_size=4)
)
def test_it_hides_what_a_search_of_the_decoded_value_hides(
    value: object, rules: list[list[str]]
) -> None:
    shown = redacted(written(value), *("$" + "".join(rule) for rule in rules))
    assert shown == written(expected(value, rules))

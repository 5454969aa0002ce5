"""The reference pages tell what the code says: no name left out, no table out of date."""

from collections.abc import Iterator, Mapping
from inspect import Parameter, signature
from pathlib import Path

import pytest

import tarry
from tarry.core.codec import to_dict
from tarry.core.format import SETTINGS, TABLES, UNIONS, UNLIMITED, Form, Key
from tarry.core.value import ValueType
from tarry.observe import events
from tarry.sim.scenario.format import BREAKER, BUDGETS, MODELS
from tarry.sim.shipped import names, shipped

EVENTS = events.Event.__args__
REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def tables() -> Iterator[tuple[str, str]]:
    """Give each table of the policy file's page: what it is of, and its text."""
    defaults = to_dict(tarry.Policy())
    yield "the top level", table({key: (SETTINGS[key], defaults[key]) for key in SETTINGS})
    for union, forms in UNIONS.items():
        for kind, form in forms.items():
            if form.keys:
                yield f"{union} {kind}", table(with_defaults(form))
    for name, form in TABLES.items():
        yield name, table(with_defaults(form))


def with_defaults(form: Form) -> dict[str, tuple[Key, object]]:
    """Find each key's default where the class has it."""
    parameters = signature(form.made).parameters
    return {name: (key, parameters[name].default) for name, key in form.keys.items()}


def table(keys: Mapping[str, tuple[Key, object]]) -> str:
    """Write the keys down as the page should have them."""
    rows = ["| key | what it is | holds | if left out |", "|---|---|---|---|"]
    for name, (key, default) in keys.items():
        holds = key.shape.wanted + (f', or `"{UNLIMITED}"`' if key.unlimited else "")
        shown = written(default, unlimited=key.unlimited)
        rows.append(f"| `{name}` | {key.about} | {holds} | {shown} |")
    return "\n".join(rows)


def written(default: object, *, unlimited: bool = False) -> str:
    """Write a default as TOML has it."""
    if default is Parameter.empty:
        return "must be given"
    if default is None:
        return f'`"{UNLIMITED}"`' if unlimited else "none"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, frozenset):
        return ", ".join(f"`{status}`" for status in sorted(default))
    return f'`"{default}"`' if isinstance(default, str) else f"`{default:g}`"


@pytest.mark.parametrize("part", dict(tables()))
def test_the_policy_file_page_has_every_key(part: str) -> None:
    text = dict(tables())[part]
    assert text in (REFERENCE / "policy-file.md").read_text(), f"the page should have\n{text}"


SCENARIO_FORMS = {**MODELS, **BUDGETS, "breaker": BREAKER}


@pytest.mark.parametrize("form", SCENARIO_FORMS.values(), ids=SCENARIO_FORMS)
def test_the_scenario_file_page_has_every_key(form: Form) -> None:
    text = table(with_defaults(form))
    assert text in (REFERENCE / "scenario-file.md").read_text(), f"the page should have\n{text}"


@pytest.mark.parametrize("forms", [MODELS, BUDGETS], ids=["models", "budgets"])
def test_the_scenario_file_page_has_every_kind(forms: Mapping[str, Form]) -> None:
    page = (REFERENCE / "scenario-file.md").read_text()
    word = "model" if forms is MODELS else "kind"
    for kind, form in forms.items():
        assert f'`{word} = "{kind}"`: {form.about}' in page


@pytest.mark.parametrize("name", names())
def test_the_scenario_file_page_has_every_metric_and_every_scenario(name: str) -> None:
    page = (REFERENCE / "scenario-file.md").read_text()
    storm = shipped(name)
    assert f"| `{name}` | {storm.model} | {storm.about} |" in page
    rows = (
        f"| `{metric}` | {measure.about} | {measure.unit} |"
        for metric, measure in storm.scenario.measures.items()
    )
    text = "\n".join(rows)
    assert text in page, f"the page should have\n{text}"


@pytest.mark.parametrize("union", UNIONS)
def test_the_policy_file_page_has_every_kind(union: str) -> None:
    page = (REFERENCE / "policy-file.md").read_text()
    for kind, form in UNIONS[union].items():
        assert f'`kind = "{kind}"`: {form.about}' in page


@pytest.mark.parametrize("name", tarry.__all__)
def test_every_promised_name_has_its_place(name: str) -> None:
    pages = [(REFERENCE / page).read_text() for page in ("api.md", "errors.md")]
    directives = ("autoclass", "autofunction", "autoexception", "py:data")
    found = [f".. {kind}:: tarry.{name}\n" in page for page in pages for kind in directives]
    assert sum(found) == 1


@pytest.mark.parametrize("why", tarry.Why, ids=lambda why: why.name)
def test_the_errors_page_has_every_reason(why: tarry.Why) -> None:
    assert f"| `{why.name}` | {why} |" in (REFERENCE / "errors.md").read_text()


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_the_events_page_has_every_field(event: ValueType) -> None:
    fields = ", ".join(f"`{field}`" for field in event.__fields__)
    assert f"| `{event.__name__}` | {fields} |" in (REFERENCE / "events.md").read_text()

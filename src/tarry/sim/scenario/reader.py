"""Read a scenario file: a model, its settings, and the policies to simulate.

Unknown keys are refused. Every error names the key, its value and what would be valid.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.codec import (
    MISSING,
    from_dict,
    hint,
    read_kind,
    read_part,
    refuse_unknown,
    table_of,
)
from tarry.core.format import UNLIMITED, WORD, Key
from tarry.core.nearest import nearest
from tarry.core.text import parse_toml
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.backlog.endpoint import Capacity
from tarry.sim.run import PACED, Contestant, Scenario
from tarry.sim.scenario.format import BREAKER, BUDGETS, FILE, MODELS
from tarry.sim.scenario.storm import Storm

GUARDED = "server"
"""The model that supports budgets and breakers."""

COMMON = (*FILE, "policies")
GUARDS = ("budget", "breaker")
RULES = {"quota": "budget", "ratio": "budget"}
"""Rules that put their own name before their fields, and the table in which they are written."""


def load(path: str | Path) -> Storm:
    """Read a scenario from a TOML file; it is named after the file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError("file", str(path), "text in UTF-8") from None
    return from_toml(text, file.stem)


def from_toml(text: str, name: str) -> Storm:
    """Read a scenario from the text of a file."""
    with _as_scenario():
        return _storm(parse_toml(text), text, name)


@contextmanager
def _as_scenario(where: str = "") -> Iterator[None]:
    """Say in the error for a wrong value where in the scenario it is."""
    try:
        yield
    except PolicyError as error:
        head, dot, rest = error.field.partition(".")
        field = f"{RULES[head]}.{rest}" if dot and head in RULES else error.field
        raise ScenarioError(f"{where}{field}", error.value, error.wanted) from None


def _storm(document: Mapping[str, object], text: str, name: str) -> Storm:
    model = _model(document)
    form = MODELS[model]
    guards = GUARDS if model == GUARDED else ()
    _refuse_guards("", document, model)
    refuse_unknown("", document, (*COMMON, *form.keys, *guards))
    about = document.get("about", "")
    if not isinstance(about, str):
        raise ScenarioError("about", about, WORD.wanted)
    settings = {key: value for key, value in document.items() if key in form.keys}
    scenario = cast("Scenario", read_part("", settings, form))
    storm = Storm(
        name=name,
        about=about,
        model=model,
        settings={key: _plain(getattr(scenario, key), rule) for key, rule in form.keys.items()},
        text=text,
        scenario=scenario,
        budget=_budget(document),
        breaker=_breaker(document),
    )
    return storm.replace(contestants=tuple(_contestants(storm, document)))


def _model(document: Mapping[str, object]) -> str:
    model = document.get("model", MISSING)
    if isinstance(model, str) and model in MODELS:
        return model
    if model is MISSING and document and (meant := nearest("model", document)) is not None:
        raise ScenarioError(meant, document[meant], "named model")
    raise ScenarioError("model", model, f"one of {', '.join(MODELS)}{hint(model, MODELS)}")


def _refuse_guards(where: str, table: Mapping[str, object], model: str) -> None:
    """Refuse a guard with an error that names the model it needs, not as an unknown key."""
    for guard in GUARDS:
        if guard in table and model != GUARDED:
            wanted = f"left out: {model} has no guards, model {GUARDED!r} has"
            raise ScenarioError(f"{where}{guard}", table[guard], wanted)


def _contestants(storm: Storm, document: Mapping[str, object]) -> Iterator[Contestant]:
    for name, value in table_of("policies", document.get("policies", {})).items():
        table = table_of(f"policies.{name}", value)
        _refuse_guards(f"policies.{name}.", table, storm.model)
        with _as_scenario(f"policies.{name}."):
            contestant = _contestant(storm, name, table)
        storm.scenario.refuse(contestant)
        yield contestant


def _contestant(storm: Storm, name: str, table: Mapping[str, object]) -> Contestant:
    if name == PACED:
        if table.keys() - {"probe"}:
            wanted = (
                "an empty table, or one with 'probe': it stands for the lane's pacer, which has no"
                " other settings"
            )
            raise ScenarioError(f"policies.{PACED}", table, wanted)
        return Contestant(PACED, None, probe=from_dict(table).probe)
    policy = from_dict({key: value for key, value in table.items() if key not in GUARDS})
    own = {key: value for key, value in table.items() if key in GUARDS}
    return Contestant(name, policy, _budget(own) or storm.budget, _breaker(own) or storm.breaker)


def _budget(table: Mapping[str, object]) -> QuotaRule | RatioRule | None:
    if "budget" not in table:
        return None
    return cast("QuotaRule | RatioRule", read_kind("budget", table["budget"], BUDGETS))


def _breaker(table: Mapping[str, object]) -> BreakerRule | None:
    if "breaker" not in table:
        return None
    part = table_of("breaker", table["breaker"])
    return cast("BreakerRule", read_part("breaker.", part, BREAKER))


def _plain(value: object, key: Key) -> object:
    """Return a setting as the file would have it; None if it is unset and has no word for that."""
    if value is None and key.unlimited:
        return UNLIMITED
    if isinstance(value, Capacity):
        (_, level), *more = value.steps
        return _plain(value.steps, key) if more else level
    return [_plain(item, key) for item in value] if isinstance(value, tuple) else value

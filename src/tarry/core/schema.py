"""The JSON Schema of a policy document, made from the tables the codec reads by.

Published as `policy.schema.json` in the package. It cannot express two kinds of rule, which only
`from_dict` checks: those between two keys (base not above cap, no status both retried and never
retried), and that a whole number is written without a point.
"""

import json
from collections.abc import Iterable, Mapping
from inspect import Parameter, signature

from tarry.core.codec import to_dict
from tarry.core.format import SETTINGS, TABLES, UNIONS, UNLIMITED, VERSION, Form, Key
from tarry.core.policy import Policy


def policy_schema() -> dict[str, object]:
    """Describe every policy document there can be, as JSON Schema 2020-12."""
    defaults = to_dict(Policy())
    settings = {name: _key(key, defaults[name]) for name, key in SETTINGS.items()}
    unions = {name: _union(forms, defaults[name]) for name, forms in UNIONS.items()}
    tables = {name: _table(form) for name, form in TABLES.items()}
    version = {
        "description": "The version of this format.",
        "type": "integer",
        "const": VERSION,
        "default": VERSION,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:tarry:policy:{VERSION}",
        "title": f"tarry policy, version {VERSION}",
        "description": "When to try again, how long to wait, and when to stop. Times are seconds.",
        **_object({"version": version, **settings, **unions, **tables}),
    }


def schema_text() -> str:
    """Write the schema as the published file has it."""
    return json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"


def _union(forms: Mapping[str, Form], default: object) -> dict[str, object]:
    return {"oneOf": [_table(form, kind) for kind, form in forms.items()], "default": default}


def _table(form: Form, kind: str | None = None) -> dict[str, object]:
    parameters = signature(form.made).parameters
    keys = {name: _key(key, parameters[name].default) for name, key in form.keys.items()}
    required = [name for name, key in form.keys.items() if key.required]
    if kind is not None:
        keys, required = {"kind": {"const": kind}, **keys}, ["kind", *required]
    return {"description": form.about, **_object(keys, required)}


def _object(properties: Mapping[str, object], required: Iterable[str] = ()) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _key(key: Key, default: object) -> dict[str, object]:
    shape = dict(key.shape.schema)
    rule = {"anyOf": [shape, {"const": UNLIMITED}]} if key.unlimited else shape
    entry = {"description": key.about, **rule}
    if default is Parameter.empty:
        return entry
    return {**entry, "default": sorted(default) if isinstance(default, frozenset) else default}

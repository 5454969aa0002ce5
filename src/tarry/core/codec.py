"""A policy as a plain dict and back: every setting written out, nothing unknown let through.

The words are in `format`; JSON and TOML are in `text`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar, cast, overload

from tarry.core.format import SETTINGS, TABLES, UNIONS, UNLIMITED, VERSION, Form, Key, Shape
from tarry.core.nearest import nearest
from tarry.core.policy import Policy
from tarry.errors import PolicyError, PolicyFormatError

SomePolicy = TypeVar("SomePolicy", bound=Policy)


class _Missing:
    """A placeholder for a missing value that reads well in a message."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Final = _Missing()
OR_UNLIMITED = f", or {UNLIMITED!r}"


def to_dict(policy: Policy) -> dict[str, object]:
    """Return a policy as plain values, with all defaults.

    >>> to_dict(Policy())["jitter"]
    {'kind': 'smooth'}
    """
    document: dict[str, object] = {"version": VERSION}
    document |= _plain_fields(policy, SETTINGS)
    for name, forms in UNIONS.items():
        document[name] = _plain_part(getattr(policy, name), forms)
    for name, form in TABLES.items():
        document[name] = _plain_fields(getattr(policy, name), form.keys)
    return document


@overload
def from_dict(document: Mapping[str, object]) -> Policy: ...
@overload
def from_dict(document: Mapping[str, object], cls: type[SomePolicy]) -> SomePolicy: ...
def from_dict(document: Mapping[str, object], cls: type[Policy] = Policy) -> Policy:
    """Return the policy of a document of plain values. Missing keys have their defaults.

    >>> from_dict({"attempts": 3, "backoff": {"kind": "fixed", "delay": 2}}).backoff
    Fixed(delay=2.0)
    """
    table = table_of("policy", document)
    _check_version(table.get("version", VERSION))
    refuse_unknown("", table, ("version", *SETTINGS, *UNIONS, *TABLES))
    try:
        settings = {key: _read(key, table[key]) for key in table if key != "version"}
        return cls(**cast("dict[str, Any]", settings))  # the policy checks what it is given
    except PolicyFormatError:
        raise
    except PolicyError as error:  # the parts name their fields as the document does
        setting = SETTINGS.get(error.field)
        wanted = error.wanted + (OR_UNLIMITED if setting is not None and setting.unlimited else "")
        raise PolicyFormatError(error.field, error.value, wanted) from None


def _plain_part(part: object, forms: Mapping[str, Form]) -> dict[str, object]:
    """Write a backoff or a jitter, its kind first."""
    kind = next(kind for kind, form in forms.items() if isinstance(part, form.made))
    return {"kind": kind, **_plain_fields(part, forms[kind].keys)}


def _plain_fields(part: object, keys: Iterable[str]) -> dict[str, object]:
    return {key: _plain(getattr(part, key)) for key in keys}


def _plain(value: object) -> object:
    if value is None:
        return UNLIMITED
    if isinstance(value, tuple):
        return list(value)
    return sorted(value) if isinstance(value, frozenset) else value


def _check_version(version: object) -> None:
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise PolicyFormatError("version", version, f"the whole number {VERSION}")
    if version > VERSION:
        wanted = f"{VERSION}, the newest version understood: this one is from the future"
        raise PolicyFormatError("version", version, wanted)


def _read(name: str, value: object) -> object:
    """Read one key of the document: a setting, or a table and all that is in it."""
    if name in SETTINGS:
        return _value(name, value, SETTINGS[name])
    if name in TABLES:
        return read_part(f"{name}.", table_of(name, value), TABLES[name])
    return read_kind(name, value, UNIONS[name])


def read_kind(name: str, value: object, forms: Mapping[str, Form]) -> object:
    """Read a table whose `kind` says what it stands for."""
    table = dict(table_of(name, value))
    kind = table.pop("kind", MISSING)
    if not isinstance(kind, str) or kind not in forms:
        wanted = f"one of {', '.join(forms)}{hint(kind, forms)}"
        raise PolicyFormatError(f"{name}.kind", kind, wanted)
    return read_part(f"{name}.", table, forms[kind], also=("kind",))


def read_part(
    where: str, table: Mapping[str, object], form: Form, *, also: tuple[str, ...] = ()
) -> object:
    """Read a table into the class it stands for; `where` is put before the names of its keys."""
    refuse_unknown(where, table, (*also, *form.keys))
    for key, rule in form.keys.items():
        if rule.required and key not in table:
            raise PolicyFormatError(f"{where}{key}", MISSING, rule.shape.wanted)
    return form.made(**{key: _value(f"{where}{key}", table[key], form.keys[key]) for key in table})


def refuse_unknown(where: str, table: Mapping[str, object], known: tuple[str, ...]) -> None:
    """Raise for a key that is not known."""
    for key, value in table.items():
        if key not in known:
            wanted = f"one of the keys {', '.join(known)}{hint(key, known)}"
            raise PolicyFormatError(f"{where}{key}", value, wanted)


def hint(word: object, known: Iterable[str]) -> str:
    """Return ' (did you mean ...?)' with the closest known word; empty if none is close."""
    close = nearest(word, known) if isinstance(word, str) else None
    return "" if close is None else f" (did you mean {close}?)"


def table_of(path: str, value: object) -> Mapping[str, object]:
    """Return the value if it is a table; raise otherwise."""
    if not isinstance(value, Mapping):
        raise PolicyFormatError(path, value, "a table of keys and values")
    return cast("Mapping[str, object]", value)


def _value(path: str, value: object, key: Key) -> object:
    if not key.unlimited:
        return _checked_type(path, value, key.shape)
    if value == UNLIMITED:
        return None
    return _checked_type(path, value, key.shape, or_else=OR_UNLIMITED)


def _checked_type(path: str, value: object, shape: Shape, or_else: str = "") -> object:
    """Return a value of the right type; the policy's parts check its range."""
    plain = isinstance(value, shape.types) and (bool in shape.types or not isinstance(value, bool))
    if not plain:
        raise PolicyFormatError(path, value, shape.wanted + or_else)
    if shape.items is not None and isinstance(value, list):
        return [_checked_type(f"{path}[{at}]", item, shape.items) for at, item in enumerate(value)]
    return value

"""What schemathesis does not know: which things are there, and that some of them must stay.

It is loaded by `schemathesis run` with SCHEMATHESIS_HOOKS; TARRY_KNOWN holds, as JSON, what may
stand for each name in a path.
"""

import json
import os
import random
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode

KNOWN: dict[str, list[str]] = json.loads(os.environ["TARRY_KNOWN"])
THERE = 0.7
"""How many requests ask for something that is there."""
GONE = "gone"

_chance = random.Random(os.environ.get("TARRY_SEED"))


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:  # noqa: ANN401  schemathesis's own
    """Let a valid request name existing objects, under an idempotency key of its own."""
    if _fits(case, ParameterLocation.PATH):
        for name in case.path_parameters or ():
            if name in KNOWN and _chance.random() < THERE:
                case.path_parameters[name] = _chance.choice(KNOWN[name])
    if _fits(case, ParameterLocation.HEADER) and "idempotency-key" in (case.headers or ()):
        # One key for all requests would be answered with a conflict for all but the first.
        case.headers["idempotency-key"] = f"{_chance.randrange(10_000)}"
    if _fits(case, ParameterLocation.BODY) and isinstance(case.body, dict | list):
        case.body = _whole(case.body)  # what is not set would count as wrong once it is touched
    if case.method == "DELETE":
        _spare(case)


def _fits(case: Any, where: ParameterLocation) -> bool:  # noqa: ANN401  schemathesis's own
    """Whether a part of a request is as the document says: others are left as wrong as they are."""
    part = None if case.meta is None else case.meta.components.get(where)
    return part is not None and part.mode == GenerationMode.POSITIVE


def _whole(value: object) -> object:
    """A body whose whole numbers are written without a point, for which JSON Schema does not care.

    The service does: no program writes them so, and 1.0 may be a slip for 1.5.
    """
    match value:
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case dict():
            return {name: _whole(one) for name, one in value.items()}
        case list():
            return [_whole(one) for one in value]
    return value


def _spare(case: Any) -> None:  # noqa: ANN401  schemathesis's own
    """Leave what was there from the beginning alone, else the rest of the run asks for nothing.

    It may have any uid by now, also one that a request makes up.
    """
    last = case.path.rsplit("/", 1)[-1].strip("{}")
    if last in KNOWN and _fits(case, ParameterLocation.PATH):
        case.path_parameters[last] = GONE

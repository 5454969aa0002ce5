"""Durations and shares as people type them: `90s` or `1.5 min`, and `30%`.

Each function is the `type` of an option: `click.option("--slow", type=seconds)`.
"""

import re
from math import inf

import click

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_AMOUNT = re.compile(r"(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[a-z%]*)", re.ASCII)


def seconds(typed: str) -> float:
    """Read a duration in seconds; a number without a unit is in seconds."""
    match = _AMOUNT.fullmatch(typed.strip())
    unit = UNITS.get(match["unit"] or "s") if match else None
    duration = float(match["number"]) * unit if match and unit else inf
    if duration == inf:
        wanted = f"a number with {', '.join(UNITS)} behind it, for example 90s or 1.5min"
        raise click.BadParameter(f"{typed!r} is no duration; it must be {wanted}")
    return duration


def share(typed: str) -> float:
    """Read a share between 0 and 1, such as `30%` or `0.3`."""
    match = _AMOUNT.fullmatch(typed.strip())
    part = inf
    if match and match["unit"] in {"", "%"}:
        part = float(match["number"]) / (100 if match["unit"] else 1)
    if part > 1:
        wanted = "between 0% and 100%, or between 0 and 1"
        raise click.BadParameter(f"{typed!r} is no share; it must be {wanted}")
    return part

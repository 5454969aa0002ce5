"""A number of bytes, as people type it: `256MB`, `1.5 GB`, `0`."""

import re
from math import inf

import click

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}

_FORM = re.compile(r"(?P<number>\d+(\.\d+)?) *(?P<unit>[a-z]*)", re.ASCII | re.IGNORECASE)


class ByteSize(click.ParamType[int]):
    """Reads a number of bytes; a number without a unit is in bytes."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number of bytes; a value that cannot be read ends the command."""
        match = _FORM.fullmatch(str(value).strip())
        unit = UNITS.get(match["unit"].lower()) if match else None
        size = float(match["number"]) * unit if match and unit else inf
        if size == inf:
            self.fail(f"{value!r} is no size; 256MB or 1.5GB would be one", param, ctx)
        return int(size)

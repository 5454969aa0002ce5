"""Numbers as people type them and files hold them, within bounds; what is none is refused."""

import math
from typing import Any

import click


class Whole(click.IntRange):
    """A whole number: half of one is not rounded, and yes is not one."""

    name = "whole number"

    def convert(
        self,
        value: Any,  # noqa: ANN401  what was typed, or stands in a file
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """The number; whatever cannot be read, or is out of bounds, ends the command."""
        if isinstance(value, bool | float):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A number that can be reckoned with: infinity is none, nor is what is not a number."""

    name = "number"

    def convert(
        self,
        value: Any,  # noqa: ANN401  what was typed, or stands in a file
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """The number; whatever cannot be read, or is out of bounds, ends the command."""
        if isinstance(value, bool):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return found

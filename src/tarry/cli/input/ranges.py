"""Options that are numbers within bounds, from the command line or a settings file."""

import math
from typing import Any

import click


class Whole(click.IntRange):
    """A whole number; fractions and booleans are refused."""

    name = "whole number"

    def convert(
        self,
        value: Any,  # noqa: ANN401  from the command line or a file
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Return the number; a value that is invalid or out of bounds ends the command."""
        if isinstance(value, bool | float):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A finite number; infinity, NaN and booleans are refused."""

    name = "number"

    def convert(
        self,
        value: Any,  # noqa: ANN401  from the command line or a file
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number; a value that is invalid or out of bounds ends the command."""
        if isinstance(value, bool):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return number

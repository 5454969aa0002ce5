"""Durations as people say them."""

import math

_UNITS = ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (120, 60, "min"), (1, 1, "s"))
"""From how many seconds on a unit is used, its length in seconds, and its sign."""


def spoken(seconds: float) -> str:
    """Write a duration with three digits and a unit.

    >>> spoken(0.12), spoken(2.5), spoken(240)
    ('120 ms', '2.5 s', '4 min')
    """
    rounded = float(f"{seconds:.3g}")
    if rounded == 0:
        return "0 s"
    if rounded == math.inf:
        return "an endless time"
    for least, length, sign in _UNITS:
        if rounded >= least:
            return f"{_digits(rounded / length)} {sign}"
    return f"{_digits(rounded * 1000)} ms"


def _digits(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"  # noqa: PLR2004  three digits

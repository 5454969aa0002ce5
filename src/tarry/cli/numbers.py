"""Numbers as commands tell them: with the digits that people read, with bounds for programs."""

from tarry.sim.estimate import Estimate

ENOUGH = 3
"""Digits that people read."""


def digits(number: float, significant: int = ENOUGH) -> str:
    """Round to so many digits, but never to whole tens or hundreds.

    >>> digits(0.123456), digits(12.3456), digits(123456.7)
    ('0.123', '12.3', '123,457')
    """
    rounded = float(f"{number:.{significant}g}")
    if abs(rounded) >= 10**significant:
        return f"{number:,.0f}"
    return f"{rounded:.{significant}g}"


def bounds(found: Estimate) -> dict[str, object]:
    """The mean and its interval for JSON; null stands for what is not known."""
    known = found.low is not None and found.high is not None
    return {"mean": found.mean, "ci95": [found.low, found.high] if known else None}

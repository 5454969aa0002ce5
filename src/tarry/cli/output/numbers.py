"""Format numbers: rounded for people, with their interval for programs."""

from tarry.sim.estimate import Estimate

SIGNIFICANT_DIGITS = 3
"""How many digits people read."""


def digits(number: float, significant: int = SIGNIFICANT_DIGITS) -> str:
    """Round to `significant` digits, but keep all digits before the decimal point.

    >>> digits(0.123456), digits(12.3456), digits(123456.7)
    ('0.123', '12.3', '123,457')
    """
    rounded = float(f"{number:.{significant}g}")
    if abs(rounded) >= 10**significant:
        return f"{number:,.0f}"
    return f"{rounded:.{significant}g}"


def bounds(estimate: Estimate) -> dict[str, object]:
    """Return the mean and its interval for JSON; an unknown number is null."""
    is_known = estimate.low is not None and estimate.high is not None
    return {"mean": estimate.mean, "ci95": [estimate.low, estimate.high] if is_known else None}

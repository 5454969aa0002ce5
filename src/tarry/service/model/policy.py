"""A policy document as the service reads it."""

from tarry.core.codec import from_dict
from tarry.core.policy import Policy
from tarry.core.text import parse_json
from tarry.errors import PolicyError
from tarry.service.model.settings import DELIVERY

LONGEST_ATTEMPT = 120.0
"""The most seconds of an `attempt_timeout`. An attempt that waits keeps a slot of the process: a
tenant whose endpoint never answers must not keep slots for years."""


def read_policy(document: str) -> Policy:
    """Return the policy of a document; PolicyError says where it is wrong.

    Without `within` in the document, the service's own limit of a delivery's age applies. The
    library's default of 45 seconds is for a call; here it would end all waiting deliveries. An
    `attempt_timeout` above the limit, from before there was one, counts as the limit.
    """
    fields = parse_json(document)
    policy = from_dict(fields)
    if "within" not in fields:
        policy = policy.replace(within=DELIVERY.within)
    if _is_too_long(policy):
        policy = policy.replace(attempt_timeout=LONGEST_ATTEMPT)
    return policy


def check_policy(document: str) -> None:
    """Raise PolicyError, which says what is wrong, if the service may not use a policy document."""
    policy = from_dict(parse_json(document))
    if _is_too_long(policy):
        wanted = f"a number of seconds above 0, up to {LONGEST_ATTEMPT:.0f} in the service"
        raise PolicyError("attempt_timeout", policy.attempt_timeout, wanted)


def _is_too_long(policy: Policy) -> bool:
    """Return whether the policy gives an attempt more time than the service allows."""
    return policy.attempt_timeout is not None and policy.attempt_timeout > LONGEST_ATTEMPT

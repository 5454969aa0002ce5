"""A policy document as the service reads it."""

from tarry.core.codec import from_dict
from tarry.core.policy import Policy
from tarry.core.text import parse_json
from tarry.service.model.settings import DELIVERY


def read_policy(document: str) -> Policy:
    """The policy of a document; PolicyError says where it is wrong.

    Where it names no `within`, deliveries become as old as by the service's own policy. A call is
    given up on after 45 seconds; here that is the age of a message, and would end all that wait.
    """
    told = parse_json(document)
    policy = from_dict(told)
    return policy if "within" in told else policy.replace(within=DELIVERY.within)

"""A policy document as the service reads it."""

from tarry.core.codec import from_dict
from tarry.core.policy import Policy
from tarry.core.text import parse_json
from tarry.service.model.settings import DELIVERY


def read_policy(document: str) -> Policy:
    """Return the policy of a document; PolicyError says where it is wrong.

    Without `within` in the document, the service's own limit of a delivery's age applies. The
    library's default of 45 seconds is for a call; here it would end all waiting deliveries.
    """
    fields = parse_json(document)
    policy = from_dict(fields)
    return policy if "within" in fields else policy.replace(within=DELIVERY.within)

"""The hidden application of an environment, whose endpoints get the environment's notices.

It is the only application of a hidden environment that no key opens. So it is in no list, and a
request for it as an ordinary application finds nothing.
"""

from hashlib import blake2b

from tarry.service.model import ids
from tarry.service.model.application import Application

UID = "operational"

_MARK = "/operational"
"""Only ids of hidden environments end with this."""


def hidden(environment: str) -> str:
    """Return the environment that gets another one's notices; a hidden one gets its own.

    >>> hidden("org_default"), hidden(hidden("org_default"))
    ('org_default/operational', 'org_default/operational')
    """
    return environment if is_hidden(environment) else environment + _MARK


def visible(environment: str) -> str:
    """Return the environment whose notices go to a hidden one; any other stays itself.

    >>> visible("org_default/operational"), visible("org_default")
    ('org_default', 'org_default')
    """
    return environment.removesuffix(_MARK)


def is_hidden(environment: str) -> bool:
    """Return whether an environment is hidden."""
    return environment.endswith(_MARK)


def application(environment: str, *, now: float) -> Application:
    """Return the application for an environment's notices; its id is the same in every call."""
    hidden_environment = hidden(environment)
    chance = blake2b(hidden_environment.encode(), digest_size=ids.CHANCE).digest()
    return Application(
        id=ids.make(ids.APPLICATION, now=0.0, entropy=chance),
        environment=hidden_environment,
        name="Operational webhooks",
        uid=UID,
        created_at=now,
        updated_at=now,
    )

"""Where notices of an environment go: to endpoints of an application that nobody else sees.

It is the only one of an environment of its own, which no key opens: so it is in no list, and not
there for whoever asks for it as for an ordinary application.
"""

from hashlib import blake2b

from tarry.service.model import ids
from tarry.service.model.application import Application

UID = "operational"

_MARK = "/operational"
"""No environment's id ends so but those made here."""


def hidden(environment: str) -> str:
    """The environment that hears of what happens in one: its own endpoints are in there as well.

    >>> hidden("org_default"), hidden(hidden("org_default"))
    ('org_default/operational', 'org_default/operational')
    """
    return environment if is_hidden(environment) else environment + _MARK


def is_hidden(environment: str) -> bool:
    """Whether an environment is one of these."""
    return environment.endswith(_MARK)


def application(environment: str, *, now: float) -> Application:
    """The application whose endpoints hear of an environment; whoever makes it makes the same."""
    within = hidden(environment)
    chance = blake2b(within.encode(), digest_size=ids.CHANCE).digest()
    return Application(
        id=ids.make(ids.APPLICATION, now=0.0, entropy=chance),
        environment=within,
        name="Operational webhooks",
        uid=UID,
        created_at=now,
        updated_at=now,
    )

"""A zoo of hostile receivers: what a sender of webhooks meets in practice, on real sockets.

    with zoo.receiver("slow-head") as receiver:
        ...  # send something to receiver.url
        assert ending in receiver.behaviour.endings

Each of the `BEHAVIOURS` says what it does and how a correct sender may end the attempt. Senders
under test must trust `zoo.authority()`. The zoo needs `tarry[service]`.
"""

from collections.abc import Mapping
from itertools import chain

from tarry.errors import TarryError
from tarry.testing.zoo.behaviour import Behaviour, Ending
from tarry.testing.zoo.breaks import BREAKS
from tarry.testing.zoo.certificates import authority
from tarry.testing.zoo.desync import DESYNC
from tarry.testing.zoo.floods import FLOODS
from tarry.testing.zoo.line import Asked
from tarry.testing.zoo.malformed import MALFORMED
from tarry.testing.zoo.plain import PLAIN
from tarry.testing.zoo.receiver import CALM, TRAP, Receiver
from tarry.testing.zoo.redirects import REDIRECTS
from tarry.testing.zoo.slow import SLOW
from tarry.testing.zoo.tls import TLS

__all__ = [
    "BEHAVIOURS",
    "CALM",
    "TRAP",
    "Asked",
    "Behaviour",
    "Ending",
    "Receiver",
    "authority",
    "receiver",
]

BEHAVIOURS: Mapping[str, Behaviour] = {
    behaviour.name: behaviour
    for behaviour in chain(PLAIN, REDIRECTS, SLOW, FLOODS, BREAKS, MALFORMED, DESYNC, TLS)
}


def receiver(name: str, *, beat: float = 1.0) -> Receiver:
    """Return a receiver with this behaviour; a slow one lets `beat` seconds pass between bytes."""
    if name not in BEHAVIOURS:
        raise TarryError(f"there is no {name!r} in the zoo; it has {', '.join(BEHAVIOURS)}")
    return Receiver(BEHAVIOURS[name], beat=beat)

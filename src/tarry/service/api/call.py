"""One request that is being carried out: who asks, where, and what the path names."""

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b

from tarry.errors import NotFound
from tarry.service.api.access import Need, Who
from tarry.service.api.known import Known
from tarry.service.api.request import Request
from tarry.service.hooks import Hooks
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.claim import Claim
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.message import Message

NAME = re.compile(r"[a-zA-Z0-9\-_.]{1,256}")
"""An id, or the owner's own."""


class Call:
    """What a handler gets to know.

    Whatever belongs to somebody else is not there: the same NotFound as if it did not exist.
    """

    def __init__(  # noqa: PLR0913  what a request is made of
        self,
        hooks: Hooks,
        who: Who,
        request: Request,
        names: Mapping[str, str],
        known: Known,
        *,
        now: float,
    ) -> None:
        self.hooks, self.who, self.request, self.names = hooks, who, request, names
        self.known, self.now = known, now

    def new_id(self, prefix: str) -> str:
        """An id for what is made; the same one when a request is carried out again."""
        return self.hooks.new_id(prefix)

    def may(self, need: Need) -> bool:
        """Whether whoever asks may do more than the operation needs."""
        return need in self.who.needs

    def name(self, which: str, kind: str) -> str:
        """What stands in the path; what cannot be a name is not there."""
        known_as = self.names[which]
        if not NAME.fullmatch(known_as):
            raise NotFound(kind, known_as)
        return known_as

    async def application(self) -> Application:
        """The application that the path names."""
        known_as = self.name("app_id", "application")
        found = await self.hooks.store.application(self.who.environment, known_as)
        if self.who.application not in (None, found.id):
            raise NotFound("application", known_as)
        return found

    async def remembered_application(self) -> tuple[Application, bool]:
        """The same, and whether it was only remembered: for the busiest way in."""
        known_as = self.name("app_id", "application")
        found, remembered = await self.known.application(self.who.environment, known_as)
        if self.who.application not in (None, found.id):
            raise NotFound("application", known_as)
        return found, remembered

    def forget_application(self) -> None:
        """Let it be asked for again."""
        self.known.forget(self.who.environment, self.names["app_id"])

    async def endpoint(self, application: Application) -> Endpoint:
        """The endpoint that the path names."""
        known_as = self.name("endpoint_id", "endpoint")
        return await self.hooks.store.endpoint(application.id, known_as)

    async def message(self, application: Application) -> Message:
        """The message that the path names."""
        return await self.hooks.store.message(application.id, self.name("msg_id", "message"))


def chance_of(claim: Claim) -> Callable[[int], bytes]:
    """Chance that is the same for everybody who carries out a claim."""
    count = 0

    def chance(length: int) -> bytes:
        nonlocal count
        count += 1
        seed = f"{claim.environment} {claim.key} {claim.at} {count}".encode()
        return blake2b(seed, key=claim.fingerprint, digest_size=max(length, ids.CHANCE)).digest()[
            :length
        ]

    return chance

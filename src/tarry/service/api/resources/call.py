"""The context of one request: its caller, its time, and the objects that its path names."""

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b

from tarry.errors import NotFound
from tarry.service.api.http.access import Caller, Need
from tarry.service.api.http.readiness import Readiness
from tarry.service.api.http.request import Request
from tarry.service.api.resources.messages.send_cache import SendCache
from tarry.service.hooks import Hooks
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.audit import Action
from tarry.service.model.claim import Claim
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.message import Message
from tarry.service.store.kinds import Applications, Endpoints, Messages

NAME = re.compile(r"[a-zA-Z0-9\-_.]{1,256}")
"""The spelling of names in paths: an id, or a uid that the owner chose."""


class Call:
    """The context that a handler gets with a request.

    An object of another tenant raises the same NotFound as one that does not exist.
    """

    def __init__(  # noqa: PLR0913  the parts of a request
        self,
        hooks: Hooks,
        caller: Caller,
        request: Request,
        names: Mapping[str, str],
        send_cache: SendCache,
        *,
        acting: Callable[[], Hooks],
        readiness: Readiness,
        now: float,
    ) -> None:
        self.hooks, self.caller, self.request, self.names = hooks, caller, request, names
        self.send_cache, self.readiness, self.now = send_cache, readiness, now
        self._acting = acting

    @property
    def action(self) -> Action | None:
        """Who does what, for the audit trail.

        The trail has no entry about a message that is accepted, so its hooks have no action. It has
        one about an application that the message creates.
        """
        return self.hooks.action or self._acting().action

    def new_id(self, prefix: str) -> str:
        """Return a new id; a request that is executed again gets the same ids."""
        return self.hooks.new_id(prefix)

    def may(self, need: Need) -> bool:
        """Return whether the caller has a permission, beyond the one that the operation needs."""
        return need in self.caller.needs

    def name(self, which: str, kind: str) -> str:
        """Return a name from the path; NotFound if it is not spelled like a name."""
        name = self.names[which]
        if not NAME.fullmatch(name):
            raise NotFound(kind, name)
        return name

    async def application(self) -> Application:
        """Return the application that the path names."""
        known_as = self.name("app_id", "application")
        application = await self.hooks.store.get(Applications(self.caller.environment), known_as)
        if self.caller.application not in (None, application.id):
            raise NotFound("application", known_as)
        return application

    @property
    def is_tenant(self) -> bool:
        """Whether the caller is a tenant's user, who must not learn about other tenants."""
        return self.caller.application is not None

    async def remembered_application(self) -> tuple[Application, bool]:
        """Return the application that the path names, and whether it came from the cache.

        Only for sending messages, which is the most frequent operation.
        """
        known_as = self.name("app_id", "application")
        application, remembered = await self.send_cache.application(
            self.caller.environment, known_as
        )
        if self.caller.application not in (None, application.id):
            raise NotFound("application", known_as)
        return application, remembered

    def forget_application(self) -> None:
        """Drop the application that the path names from the cache."""
        self.send_cache.forget(self.caller.environment, self.names["app_id"])

    async def endpoint(self, application: Application) -> Endpoint:
        """Return the endpoint that the path names."""
        known_as = self.name("endpoint_id", "endpoint")
        return await self.hooks.store.get(Endpoints(application.id), known_as)

    async def message(self, application: Application) -> Message:
        """Return the message that the path names."""
        return await self.hooks.store.get(Messages(application.id), self.name("msg_id", "message"))


def chance_of(claim: Claim) -> Callable[[int], bytes]:
    """Return a source of random bytes that is the same for every execution of a claim."""
    count = 0

    def chance(length: int) -> bytes:
        nonlocal count
        count += 1
        seed = f"{claim.environment} {claim.key} {claim.at} {count}".encode()
        return blake2b(seed, key=claim.fingerprint, digest_size=max(length, ids.CHANCE)).digest()[
            :length
        ]

    return chance

"""What a store must do for those who look through lists, page by page."""

from typing import Protocol

from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.listing import AttemptFilter, Cut, DeliveryFilter, Found, MessageFilter
from tarry.service.model.message import Message
from tarry.service.model.task import Task, Work


class Listing(Protocol):
    """Lists. Each is by id, in the order that its cut asks for.

    For what tells where it was left, no more is looked at than the cut says. Entries that could be
    passed over without a look, by an index, need not be counted.
    """

    async def list_applications(self, environment: str, cut: Cut) -> list[Application]:
        """An environment's applications, without deleted ones."""

    async def list_endpoints(self, application: str, cut: Cut) -> list[Endpoint]:
        """An application's endpoints, without deleted ones."""

    async def list_messages(
        self, application: str, cut: Cut, wanted: MessageFilter
    ) -> Found[Message]:
        """An application's messages."""

    async def list_deliveries_to(
        self, endpoint: Endpoint, cut: Cut, wanted: DeliveryFilter
    ) -> Found[tuple[Message, Delivery]]:
        """An endpoint's deliveries with their messages, in the order of its lane's sequence.

        The mark is a message's id; one that has no delivery here (any more) is taken by its time.
        Messages without a row any more are left out.
        """

    async def list_attempts_to(
        self, endpoint: Endpoint, cut: Cut, wanted: AttemptFilter
    ) -> Found[tuple[Attempt, Message]]:
        """Attempts that were made at an endpoint, with their messages."""

    async def list_attempts_of(
        self, message: str, cut: Cut, wanted: AttemptFilter
    ) -> Found[tuple[Attempt, Endpoint]]:
        """Attempts at a message, with the endpoints they were made at, deleted ones included."""

    async def attempt(self, message: str, attempt: str) -> tuple[Attempt, Endpoint]:
        """One attempt at a message; NotFound("attempt", id) if there is none."""

    async def expunge_attempt(self, message: str, attempt: str) -> None:
        """Keep EXPUNGED of what an endpoint answered to an attempt; NotFound if there is none."""

    async def list_tasks(
        self, environment: str, cut: Cut, *, work: Work | None = None, finished: bool | None = None
    ) -> list[Task]:
        """An environment's tasks, also of applications that were deleted."""

    async def count_deliveries(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> dict[tuple[State, bool], int]:
        """How many deliveries accepted from `since` until before `until` are in a state, and tried.

        The second part of a key tells whether at least one attempt was made. Counts of 0 may be
        left out.
        """

    async def count_attempts(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> tuple[int, int]:
        """How many attempts made in that time succeeded, and how many failed."""

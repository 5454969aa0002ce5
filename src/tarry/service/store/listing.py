"""The contract for lists that people read page by page."""

from typing import Protocol

from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.listing import AttemptFilter, Cut, DeliveryFilter, Found, MessageFilter
from tarry.service.model.message import Message
from tarry.service.model.task import Task, Work


class Listing(Protocol):
    """Lists. Each is sorted by id, in the direction that its cut gives.

    A list that returns `Found` examines no more entries than the cut allows. Entries that an
    index skips need not count.
    """

    async def list_applications(self, environment: str, cut: Cut) -> list[Application]:
        """Return an environment's applications, without deleted ones."""

    async def list_endpoints(self, application: str, cut: Cut) -> list[Endpoint]:
        """Return an application's endpoints, without deleted ones."""

    async def list_messages(
        self, application: str, cut: Cut, wanted: MessageFilter
    ) -> Found[Message]:
        """Return an application's messages."""

    async def list_deliveries_to(
        self, endpoint: Endpoint, cut: Cut, wanted: DeliveryFilter
    ) -> Found[tuple[Message, Delivery]]:
        """Return an endpoint's deliveries with their messages, by the lane's sequence number.

        The mark is a message id. If that message has no delivery here (any more), its time gives
        the position. Deliveries whose message row was removed are left out.
        """

    async def list_attempts_to(
        self, endpoint: Endpoint, cut: Cut, wanted: AttemptFilter
    ) -> Found[tuple[Attempt, Message]]:
        """Return the attempts made at an endpoint, with their messages."""

    async def list_attempts_of(
        self, message: str, cut: Cut, wanted: AttemptFilter
    ) -> Found[tuple[Attempt, Endpoint]]:
        """Return the attempts at a message, with their endpoints, deleted ones included."""

    async def attempt(self, message: str, attempt: str) -> tuple[Attempt, Endpoint]:
        """Return one attempt at a message; NotFound("attempt", id) if there is none."""

    async def expunge_attempt(self, message: str, attempt: str) -> None:
        """Replace the stored response of an attempt by EXPUNGED; NotFound if there is none."""

    async def list_tasks(
        self, environment: str, cut: Cut, *, work: Work | None = None, finished: bool | None = None
    ) -> list[Task]:
        """Return an environment's tasks, including those of deleted applications."""

    async def count_deliveries(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> dict[tuple[State, bool], int]:
        """Count deliveries accepted in [`since`, `until`) by state and whether they were tried.

        The second part of a key says whether at least one attempt was made. Counts of 0 may be
        left out.
        """

    async def count_attempts(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> tuple[int, int]:
        """Return how many attempts in [`since`, `until`) succeeded, and how many failed."""

"""The kinds of records in a store, for the generic methods of `contract.Records`.

A kind is a value that names a table and the part of it that is meant, such as the endpoints of one
application. Its base classes say which methods accept it, and the type of its records: `get` takes
a `Gettable`, `page` a `Paged`, `change` a `Changeable`. A `Query` is a whole question for `read`.
Each kind's docstring has the rules of its records.

The unions at the end list all kinds. A store matches its argument against them, so that mypy finds
a kind that the store has forgotten.
"""

from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt
from tarry.service.model.audit import AuditEntry, AuditFilter
from tarry.service.model.data_key import DataKey
from tarry.service.model.delivery import Delivery
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key
from tarry.service.model.lane import LaneRow, Notice
from tarry.service.model.listing import AttemptFilter, DeliveryFilter, MessageFilter
from tarry.service.model.message import Message
from tarry.service.model.task import Task, Work

Record_co = TypeVar("Record_co", covariant=True)
Position = tuple[int, int]
"""A lane and a sequence number in it."""


class Gettable(Generic[Record_co]):
    """A kind whose records have names: `get` returns one of them."""

    __slots__ = ()


class Paged(Generic[Record_co]):
    """A kind that people read page by page: `page` returns a part of the list."""

    __slots__ = ()


class Changeable(Generic[Record_co]):
    """A kind whose stored records `change` replaces by new ones."""

    __slots__ = ()


class Query(Generic[Record_co]):
    """A question that `read` answers with a list."""

    __slots__ = ()


# --- Records that only the store has ------------------------------------------------------------


class Environment(Struct, frozen=True):
    """An environment and its policy document: the default of all its endpoints."""

    id: str
    policy: str | None = None


class PolicyVersion(Struct, frozen=True):
    """A policy document under its version, so that a decision can be repeated later."""

    version: str
    document: str


# --- What people set up -------------------------------------------------------------------------


class Environments(Struct, Gettable[Environment], Query[Environment], frozen=True):
    """All environments, by id.

    `create` does not change an environment that exists, and raises no Conflict. `put` changes its
    policy, and wakes those of its lanes that are not at rest. `get` returns an environment that
    was never created without a policy.
    """


class Applications(
    Struct, Gettable[Application], Paged[Application], Changeable[Application], frozen=True
):
    """The applications of an environment, by id, without deleted ones. `get` takes an id or a uid.

    `put` and `change` wake an application's lanes. They raise Conflict if another application of
    the environment has its uid, and NotFound if it was deleted before. `delete` hides it and
    deletes its endpoints; it returns their discard tasks, in order. The application is no longer
    found and its uid is free again. Its lanes and messages stay until they are discarded and swept.
    """

    environment: str


class Endpoints(Struct, Gettable[Endpoint], Paged[Endpoint], Changeable[Endpoint], frozen=True):
    """The endpoints of an application, by id, without deleted ones. `get` takes an id or a uid.

    `put` and `change` wake the endpoint's lane, and raise its version by one. A new endpoint gets a
    lane, with the version after `first_version`. They raise Conflict if another endpoint has its
    uid, and NotFound if the application does not exist or the endpoint was deleted before. The
    store keeps the lane and the parkings of an existing endpoint: see `Endpoint.following`. A
    change of standing keeps waiting deliveries. An endpoint that becomes DELETED gets, in the same
    commit, a task that discards them (`discarding`), and its uid is free again. `delete` marks it
    DELETED as of `now`, and returns that task alone.
    """

    application: str


class Lanes(Struct, Gettable[LaneRow], frozen=True):
    """The lanes of an application, by the ids of their endpoints, deleted endpoints included."""

    application: str


class DataKeys(Struct, Changeable[DataKey], Query[DataKey], frozen=True):
    """The data keys with these names, each an id or an application; without names, all by id.

    All of them come in pages of `limit`, after the id `after`, to change the sealing key. `create`
    raises NotFound if the application does not exist, and Conflict if it has a data key. `change`
    saves only `sealed`. `erase` deletes an application's key, as does `delete` of the application.
    """

    names: tuple[str, ...] | None = None
    after: str = ""
    limit: int = 100


class PolicyVersions(Struct, Gettable[PolicyVersion], frozen=True):
    """Policy documents, by version."""


class EventTypes(Struct, Gettable[EventType], Paged[EventType], Changeable[EventType], frozen=True):
    """The event types of an environment, by name; a page has archived ones only if `archived`.

    `create` raises Conflict("event type", name) if it exists there, archived or not. `change` keeps
    the name and the environment.
    """

    environment: str
    archived: bool = False


class Keys(Struct, Paged[Key], Changeable[Key], frozen=True):
    """The keys to an environment, by id, revoked ones too. A page has no keys to one application.

    `create` raises Conflict("key", id) if a key with its id or hash exists. `change` saves when a
    key expires or was revoked, and nothing else.
    """

    environment: str


# --- Messages, deliveries, attempts, tasks ------------------------------------------------------


class Messages(Struct, Gettable[Message], Paged[Message], frozen=True):
    """The messages of an application, by id. `get` takes an id or an event id."""

    application: str
    wanted: MessageFilter = MessageFilter()


class DeliveriesTo(Struct, Paged[tuple[Message, Delivery]], frozen=True):
    """An endpoint's deliveries with their messages, by the lane's sequence number.

    The mark is a message id. If that message has no delivery here (any more), its time gives the
    position. Deliveries whose message row was removed are left out.
    """

    endpoint: Endpoint
    wanted: DeliveryFilter = DeliveryFilter()


class AttemptsTo(Struct, Paged[tuple[Attempt, Message]], frozen=True):
    """The attempts made at an endpoint, with their messages but no payloads, by id."""

    endpoint: Endpoint
    wanted: AttemptFilter = AttemptFilter()


class AttemptsOf(
    Struct, Gettable[tuple[Attempt, Endpoint]], Paged[tuple[Attempt, Endpoint]], frozen=True
):
    """The attempts at a message, with their endpoints, deleted ones included, by id."""

    message: str
    wanted: AttemptFilter = AttemptFilter()


class Tasks(Struct, Gettable[Task], Paged[Task], frozen=True):
    """The tasks of an environment, by id, including those of deleted applications.

    A page has only tasks of this kind of work, and only finished or unfinished ones, if that is
    given.
    """

    environment: str
    work: Work | None = None
    finished: bool | None = None


class AuditTrail(Struct, Paged[AuditEntry], frozen=True):
    """The audit trail of an environment, by id, including entries about what was deleted."""

    environment: str
    wanted: AuditFilter = AuditFilter()


# --- Questions ----------------------------------------------------------------------------------


class AllDeliveriesOf(Struct, Query[tuple[Endpoint, Delivery]], frozen=True):
    """All deliveries of a message, by endpoint id, deleted endpoints included."""

    message: str


class AllAttemptsOf(Struct, Query[Attempt], frozen=True):
    """All attempts at a message, by id."""

    message: str


class AllTasksOf(Struct, Query[Task], frozen=True):
    """All tasks of an application, newest first."""

    application: str


class Undelivered(Struct, Query[tuple[Endpoint, Delivery]], frozen=True):
    """Live or FAILED deliveries of an application, or of one lane, after a position.

    They are sorted by lane and sequence number.
    """

    application: str
    lane: int | None = None
    after: Position = (0, 0)
    limit: int = 50


class UndeliveredIn(Struct, Query[tuple[Endpoint, Delivery]], frozen=True):
    """The same for all applications of an environment, except deleted ones."""

    environment: str
    after: Position = (0, 0)
    limit: int = 50


class Notices(Struct, Query[Notice], frozen=True, kw_only=True):
    """Notices to endpoint owners, by id, after the id `after`; with `unsent`, those to be sent."""

    unsent: bool = False
    after: str = ""
    limit: int = 50


class SealedEndpoints(Struct, Query[Endpoint], frozen=True, kw_only=True):
    """Endpoints with sealed values, by id, after the id `after`, to change the sealing key.

    Deleted endpoints are left out.
    """

    after: str = ""
    limit: int = 100


# --- All of them --------------------------------------------------------------------------------

GettableKind: TypeAlias = (
    Environments
    | Applications
    | Endpoints
    | Lanes
    | PolicyVersions
    | EventTypes
    | Messages
    | AttemptsOf
    | Tasks
)
PagedKind: TypeAlias = (
    Applications
    | Endpoints
    | EventTypes
    | Keys
    | Messages
    | DeliveriesTo
    | AttemptsTo
    | AttemptsOf
    | Tasks
    | AuditTrail
)
ChangeableKind: TypeAlias = Applications | DataKeys | Endpoints | EventTypes | Keys
DeletableKind: TypeAlias = Applications | Endpoints | EventTypes
ExpungeableKind: TypeAlias = Messages | AttemptsOf
AnyQuery: TypeAlias = (
    Environments
    | AllDeliveriesOf
    | AllAttemptsOf
    | AllTasksOf
    | Undelivered
    | UndeliveredIn
    | Notices
    | SealedEndpoints
    | DataKeys
)
NewRecord: TypeAlias = Environment | EventType | Key | DataKey
"""What `create` adds."""
Put = TypeVar("Put", bound=Environment | Application | Endpoint | PolicyVersion)
"""What `put` creates or replaces."""

"""The generic methods of a store, made of one method for each kind.

All stores here are built on this. The methods for the kinds are private: callers use the generic
ones, and a store that is written in another way needs none of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TypeVar, assert_never, cast

from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt
from tarry.service.model.audit import Action, AuditEntry, AuditFilter
from tarry.service.model.data_key import DataKey
from tarry.service.model.delivery import Delivery
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key
from tarry.service.model.lane import LaneRow, Notice, Noting
from tarry.service.model.listing import AttemptFilter, Cut, DeliveryFilter, Found, MessageFilter
from tarry.service.model.message import Message
from tarry.service.model.task import Task
from tarry.service.store.kinds import (
    AllAttemptsOf,
    AllDeliveriesOf,
    AllTasksOf,
    AnyQuery,
    Applications,
    AttemptsOf,
    AttemptsTo,
    AuditTrail,
    Changeable,
    ChangeableKind,
    DataKeys,
    DeletableKind,
    DeliveriesTo,
    Endpoints,
    Environment,
    Environments,
    EventTypes,
    ExpungeableKind,
    Gettable,
    GettableKind,
    Keys,
    Lanes,
    Messages,
    NewRecord,
    Notices,
    Paged,
    PagedKind,
    PolicyVersion,
    PolicyVersions,
    Put,
    Query,
    SealedEndpoints,
    Tasks,
    Undelivered,
    UndeliveredIn,
)

Record = TypeVar("Record")


class RecordsByKind(ABC):
    """Finds the method for a kind. See `contract.Records` and the kinds for what each must do.

    The type of a record follows from its kind. mypy cannot follow that through a match, so the
    generic methods cast the answer; the contract's tests check every kind.
    """

    async def get(self, kind: Gettable[Record], known_as: str) -> Record:
        """Return the record of a kind with this name."""
        return cast("Record", await self._get_any(cast("GettableKind", kind), known_as))

    async def page(self, kind: Paged[Record], cut: Cut) -> Found[Record]:
        """Return a page of a list."""
        return cast("Found[Record]", await self._page_any(cast("PagedKind", kind), cut))

    async def read(self, query: Query[Record]) -> list[Record]:
        """Return the answer to a query."""
        return cast("list[Record]", await self._read_any(cast("AnyQuery", query)))

    async def create(self, record: NewRecord, *, by: Action | None = None) -> None:
        """Add a new record."""
        match record:
            case Environment():
                await self._create_environment(record)
            case EventType():
                await self._create_event_type(record, by=by)
            case Key():
                await self._create_key(record, by=by)
            case DataKey():
                await self._create_data_key(record)
            case _:
                assert_never(record)

    async def put(
        self,
        record: Put,
        *,
        by: Action | None = None,
        noting: Noting | None = None,
        most: int | None = None,
    ) -> Put:
        """Create a record or replace it."""
        which: Environment | Application | Endpoint | PolicyVersion = record
        match which:
            case Endpoint():
                return cast("Put", await self._put_endpoint(which, by=by, noting=noting, most=most))
            case Environment():
                await self._put_environment(which, by=by)
            case Application():
                await self._put_application(which, by=by)
            case PolicyVersion():
                await self._put_policy(which)
            case _:
                assert_never(which)
        return record

    async def change(
        self,
        kind: Changeable[Record],
        known_as: str,
        change: Callable[[Record], Record],
        *,
        by: Action | None = None,
        noting: Noting | None = None,
    ) -> Record:
        """Apply `change` to the stored record with this id."""
        which = cast("ChangeableKind", kind)
        changed: object
        match which:
            case Applications(environment):
                edit = cast("Callable[[Application], Application]", change)
                changed = await self._change_application(environment, known_as, edit, by=by)
            case DataKeys():
                edit_data_key = cast("Callable[[DataKey], DataKey]", change)
                changed = await self._change_data_key(known_as, edit_data_key)
            case Endpoints(application):
                edit_endpoint = cast("Callable[[Endpoint], Endpoint]", change)
                changed = await self._change_endpoint(
                    application, known_as, edit_endpoint, by=by, noting=noting
                )
            case EventTypes(environment):
                edit_type = cast("Callable[[EventType], EventType]", change)
                changed = await self._change_event_type(environment, known_as, edit_type, by=by)
            case Keys(environment):
                edit_key = cast("Callable[[Key], Key]", change)
                changed = await self._change_key(environment, known_as, edit_key, by=by)
            case _:
                assert_never(which)
        return cast("Record", changed)

    async def delete(
        self,
        kind: DeletableKind,
        known_as: str,
        *,
        now: float,
        by: Action | None = None,
        noting: Noting | None = None,
    ) -> list[Task]:
        """Delete the record with this id; return the tasks that discard deliveries."""
        match kind:
            case Applications(environment):
                return await self._delete_application(environment, known_as, now=now, by=by)
            case Endpoints(application):
                task = await self._delete_endpoint(
                    application, known_as, now=now, by=by, noting=noting
                )
                return [task]
            case EventTypes(environment):
                await self._delete_event_type(environment, known_as, by=by)
                return []
            case _:
                assert_never(kind)

    async def expunge(
        self, kind: ExpungeableKind, known_as: str, *, by: Action | None = None
    ) -> None:
        """Delete the payload of a message, or the stored response of an attempt."""
        match kind:
            case Messages(application):
                await self._expunge_message(application, known_as, by=by)
            case AttemptsOf(message):
                await self._expunge_attempt(message, known_as, by=by)
            case _:
                assert_never(kind)

    def _get_any(self, kind: GettableKind, known_as: str) -> Awaitable[object]:
        record: Awaitable[object]
        match kind:
            case Environments():
                record = self._environment(known_as)
            case Applications(environment):
                record = self._application(environment, known_as)
            case Endpoints(application):
                record = self._endpoint(application, known_as)
            case Lanes(application):
                record = self._lane(application, known_as)
            case PolicyVersions():
                record = self._policy(known_as)
            case EventTypes(environment):
                record = self._event_type(environment, known_as)
            case Messages(application):
                record = self._message(application, known_as)
            case AttemptsOf(message):
                record = self._attempt(message, known_as)
            case Tasks(environment):
                record = self._task(environment, known_as)
            case _:
                assert_never(kind)
        return record

    def _page_any(self, kind: PagedKind, cut: Cut) -> Awaitable[object]:
        page: Awaitable[object]
        match kind:
            case Applications(environment):
                page = self._page_applications(environment, cut)
            case Endpoints(application):
                page = self._page_endpoints(application, cut)
            case EventTypes(environment, archived):
                page = self._page_event_types(environment, cut, archived=archived)
            case Keys(environment):
                page = self._page_keys(environment, cut)
            case _:
                page = self._page_history(kind, cut)
        return page

    def _page_history(
        self,
        kind: Messages | DeliveriesTo | AttemptsTo | AttemptsOf | Tasks | AuditTrail,
        cut: Cut,
    ) -> Awaitable[object]:
        page: Awaitable[object]
        match kind:
            case Messages(application, message_filter):
                page = self._page_messages(application, cut, message_filter)
            case DeliveriesTo(endpoint, delivery_filter):
                page = self._page_deliveries_to(endpoint, cut, delivery_filter)
            case AttemptsTo(endpoint, attempt_filter):
                page = self._page_attempts_to(endpoint, cut, attempt_filter)
            case AttemptsOf(message, attempt_filter):
                page = self._page_attempts_of(message, cut, attempt_filter)
            case Tasks():
                page = self._page_tasks(kind, cut)
            case AuditTrail(environment, audit_filter):
                page = self._page_audit(environment, cut, audit_filter)
            case _:
                assert_never(kind)
        return page

    def _read_any(self, query: AnyQuery) -> Awaitable[object]:
        records: Awaitable[object]
        match query:
            case Environments():
                records = self._environments()
            case AllDeliveriesOf(message):
                records = self._deliveries_of(message)
            case AllAttemptsOf(message):
                records = self._attempts_of(message)
            case AllTasksOf(application):
                records = self._tasks_of(application)
            case Undelivered():
                records = self._undelivered(query)
            case UndeliveredIn():
                records = self._undelivered_in(query)
            case Notices():
                records = self._notices(query)
            case SealedEndpoints():
                records = self._sealed(query)
            case DataKeys():
                records = self._data_keys(query)
            case _:
                assert_never(query)
        return records

    # --- The methods for the kinds: get -----------------------------------------------------------

    @abstractmethod
    async def _environment(self, known_as: str) -> Environment: ...

    @abstractmethod
    async def _application(self, environment: str, known_as: str) -> Application: ...

    @abstractmethod
    async def _endpoint(self, application: str, known_as: str) -> Endpoint: ...

    @abstractmethod
    async def _lane(self, application: str, endpoint: str) -> LaneRow: ...

    @abstractmethod
    async def _policy(self, version: str) -> PolicyVersion: ...

    @abstractmethod
    async def _event_type(self, environment: str, name: str) -> EventType: ...

    @abstractmethod
    async def _message(self, application: str, known_as: str) -> Message: ...

    @abstractmethod
    async def _attempt(self, message: str, attempt: str) -> tuple[Attempt, Endpoint]: ...

    @abstractmethod
    async def _task(self, environment: str, task: str) -> Task: ...

    # --- The methods for the kinds: page ----------------------------------------------------------

    @abstractmethod
    async def _page_applications(self, environment: str, cut: Cut) -> Found[Application]: ...

    @abstractmethod
    async def _page_endpoints(self, application: str, cut: Cut) -> Found[Endpoint]: ...

    @abstractmethod
    async def _page_event_types(
        self, environment: str, cut: Cut, *, archived: bool
    ) -> Found[EventType]: ...

    @abstractmethod
    async def _page_keys(self, environment: str, cut: Cut) -> Found[Key]: ...

    @abstractmethod
    async def _page_messages(
        self, application: str, cut: Cut, message_filter: MessageFilter
    ) -> Found[Message]: ...

    @abstractmethod
    async def _page_deliveries_to(
        self, endpoint: Endpoint, cut: Cut, delivery_filter: DeliveryFilter
    ) -> Found[tuple[Message, Delivery]]: ...

    @abstractmethod
    async def _page_attempts_to(
        self, endpoint: Endpoint, cut: Cut, attempt_filter: AttemptFilter
    ) -> Found[tuple[Attempt, Message]]: ...

    @abstractmethod
    async def _page_attempts_of(
        self, message: str, cut: Cut, attempt_filter: AttemptFilter
    ) -> Found[tuple[Attempt, Endpoint]]: ...

    @abstractmethod
    async def _page_tasks(self, kind: Tasks, cut: Cut) -> Found[Task]: ...

    @abstractmethod
    async def _page_audit(
        self, environment: str, cut: Cut, audit_filter: AuditFilter
    ) -> Found[AuditEntry]: ...

    # --- The methods for the kinds: read ----------------------------------------------------------

    @abstractmethod
    async def _environments(self) -> list[Environment]: ...

    @abstractmethod
    async def _deliveries_of(self, message: str) -> list[tuple[Endpoint, Delivery]]: ...

    @abstractmethod
    async def _attempts_of(self, message: str) -> list[Attempt]: ...

    @abstractmethod
    async def _tasks_of(self, application: str) -> list[Task]: ...

    @abstractmethod
    async def _undelivered(self, query: Undelivered) -> list[tuple[Endpoint, Delivery]]: ...

    @abstractmethod
    async def _undelivered_in(self, query: UndeliveredIn) -> list[tuple[Endpoint, Delivery]]: ...

    @abstractmethod
    async def _notices(self, query: Notices) -> list[Notice]: ...

    @abstractmethod
    async def _sealed(self, query: SealedEndpoints) -> list[Endpoint]: ...

    @abstractmethod
    async def _data_keys(self, query: DataKeys) -> list[DataKey]: ...

    # --- The methods for the kinds: create and put ------------------------------------------------

    @abstractmethod
    async def _create_environment(self, environment: Environment) -> None: ...

    @abstractmethod
    async def _create_event_type(
        self, event_type: EventType, *, by: Action | None = None
    ) -> None: ...

    @abstractmethod
    async def _create_key(self, key: Key, *, by: Action | None = None) -> None: ...

    @abstractmethod
    async def _create_data_key(self, data_key: DataKey) -> None: ...

    @abstractmethod
    async def _put_environment(
        self, environment: Environment, *, by: Action | None = None
    ) -> None: ...

    @abstractmethod
    async def _put_application(
        self, application: Application, *, by: Action | None = None
    ) -> None: ...

    @abstractmethod
    async def _put_endpoint(
        self,
        endpoint: Endpoint,
        *,
        by: Action | None = None,
        noting: Noting | None = None,
        most: int | None = None,
    ) -> Endpoint: ...

    @abstractmethod
    async def _put_policy(self, policy: PolicyVersion) -> None: ...

    # --- The methods for the kinds: change --------------------------------------------------------

    @abstractmethod
    async def _change_application(
        self,
        environment: str,
        application: str,
        change: Callable[[Application], Application],
        *,
        by: Action | None = None,
    ) -> Application: ...

    @abstractmethod
    async def _change_endpoint(
        self,
        application: str,
        endpoint: str,
        change: Callable[[Endpoint], Endpoint],
        *,
        by: Action | None = None,
        noting: Noting | None = None,
    ) -> Endpoint: ...

    @abstractmethod
    async def _change_data_key(
        self, known_as: str, change: Callable[[DataKey], DataKey]
    ) -> DataKey: ...

    @abstractmethod
    async def _change_event_type(
        self,
        environment: str,
        name: str,
        change: Callable[[EventType], EventType],
        *,
        by: Action | None = None,
    ) -> EventType: ...

    @abstractmethod
    async def _change_key(
        self,
        environment: str,
        key: str,
        change: Callable[[Key], Key],
        *,
        by: Action | None = None,
    ) -> Key: ...

    # --- The methods for the kinds: delete and expunge --------------------------------------------

    @abstractmethod
    async def _delete_application(
        self, environment: str, application: str, *, now: float, by: Action | None = None
    ) -> list[Task]: ...

    @abstractmethod
    async def _delete_endpoint(
        self,
        application: str,
        endpoint: str,
        *,
        now: float,
        by: Action | None = None,
        noting: Noting | None = None,
    ) -> Task: ...

    @abstractmethod
    async def _delete_event_type(
        self, environment: str, name: str, *, by: Action | None = None
    ) -> None: ...

    @abstractmethod
    async def _expunge_message(
        self, application: str, message: str, *, by: Action | None = None
    ) -> None: ...

    @abstractmethod
    async def _expunge_attempt(
        self, message: str, attempt: str, *, by: Action | None = None
    ) -> None: ...

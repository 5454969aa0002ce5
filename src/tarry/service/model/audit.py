"""The audit trail: who changed what, when and from where, and which fields.

An entry has names of fields. It has values only of the few that are harmless to everybody who may
read the trail: never a secret, a header, a URL, or a text that somebody typed.
"""

from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from types import MappingProxyType

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key
from tarry.service.model.listing import span_of_ids
from tarry.service.model.task import Task

Record = Application | Endpoint | EventType | Key
Value = bool | int | float | str | None

SHOWN_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "archived": "archived",
        "blocking": "blocking",
        "channels": "channels",
        "concurrency": "concurrency",
        "deprecated": "deprecated",
        "description": "description",
        "event_types": "eventTypes",
        "expires_at": "expiresAt",
        "feature_flags": "featureFlags",
        "fifo": "fifo",
        "group": "groupName",
        "headers": "headers",
        "metadata": "metadata",
        "most_waiting": "mostWaiting",
        "name": "name",
        "policy": "policy",
        "rate": "throttleRate",
        "revoked_at": "revokedAt",
        "schemas": "schemas",
        "scopes": "scopes",
        "secrets": "secrets",
        "session": "sessionId",
        "standing": "standing",
        "uid": "uid",
        "url": "url",
        "validates": "validatePayload",
    }
)
"""The fields of records whose changes are listed, with their names in the HTTP API."""
HARMLESS = frozenset(
    {
        "archived",
        "blocking",
        "concurrency",
        "deprecated",
        "fifo",
        "most_waiting",
        "rate",
        "scopes",
        "standing",
        "validates",
    }
)
"""Those whose values are listed too."""


class ActorKind(StrEnum):
    """What kind of actor made a change."""

    KEY = "key"  # a key to the environment
    TENANT = "tenant"  # a token to one application
    SETTINGS_KEY = "settings-key"  # the key in the settings of a server, which has no id
    COMMAND_LINE = "command-line"  # a command that works on the database itself
    PROGRAM = "program"  # a program that has the service built in
    TARRY = "tarry"  # the service, by its own rules


class FieldChange(Struct, frozen=True):
    """A field that changed; its values before and after are left out if they may be secret."""

    field: str
    before: Value | UnsetType = UNSET
    after: Value | UnsetType = UNSET


class Target(Struct, frozen=True):
    """What was changed: its kind and id, its application if it has one, and its changed fields."""

    kind: str
    id: str
    application: str | None = None
    changes: tuple[FieldChange, ...] = ()


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One change. `key` is the id of the actor's key, `address` where the request came from."""

    id: str
    environment: str
    application: str | None = None
    at: float
    actor: ActorKind
    key: str | None = None
    operation: str
    address: str | None = None
    target_kind: str
    target: str
    changes: tuple[FieldChange, ...] = ()


class Action(Struct, frozen=True, kw_only=True):
    """Who does what, when and from where: everything in an entry but the target.

    `chance` are the random bytes of the ids of its entries. So an action has one entry for each
    target, and an action that is carried out again after a crash has the same entries.
    """

    environment: str
    at: float
    actor: ActorKind
    key: str | None = None
    operation: str
    address: str | None = None
    chance: bytes

    def entry(self, target: Target) -> AuditEntry:
        """Return the entry about a target."""
        name = f"{target.kind} {target.id}".encode()
        chance = blake2b(name, key=self.chance, digest_size=ids.CHANCE).digest()
        return AuditEntry(
            id=ids.make(ids.AUDIT, now=self.at, entropy=chance),
            environment=self.environment,
            application=target.application,
            at=self.at,
            actor=self.actor,
            key=self.key,
            operation=self.operation,
            address=self.address,
            target_kind=target.kind,
            target=target.id,
            changes=target.changes,
        )


class AuditFilter(Struct, frozen=True, kw_only=True):
    """Selects entries that fit all fields that are set; `actor` is a key's id or a kind of actor.

    The change was made at `after` or later and earlier than `before`, by the milliseconds of the
    entry's id.
    """

    application: str | None = None
    actor: str | None = None
    operation: str | None = None
    target: str | None = None
    after: float | None = None
    before: float | None = None

    @property
    def span(self) -> tuple[str, str]:
        """The ids between which all ids of this time range are."""
        return span_of_ids(ids.AUDIT, self.after, self.before)

    def fits(self, entry: AuditEntry) -> bool:
        """Return whether an entry fits, apart from the time range."""
        return (
            self.application in (None, entry.application)
            and self.actor in (None, entry.actor, entry.key)
            and self.operation in (None, entry.operation)
            and self.target in (None, entry.target)
        )


def target_of(record: Record) -> Target:
    """Return a record as the target of a change, without changed fields."""
    match record:
        case Application():
            return application_target(record.id)
        case Endpoint():
            return Target("endpoint", record.id, record.application)
        case EventType():
            return event_type_target(record.name)
        case Key():
            return Target("key", record.id, record.application)


def changed(after: Record, before: Record | None = None) -> Target:
    """Return a record as the target of a change, with the fields that differ from `before`.

    Of a new record, these are the fields that were set.
    """
    changes = []
    for name, shown in SHOWN_FIELDS.items():
        new = getattr(after, name, None)
        old = getattr(before, name, None)
        if new == old or (before is None and not new):
            continue
        values: dict[str, Value] = {}
        if name in HARMLESS:
            values = {"after": _plain(new)} | ({} if before is None else {"before": _plain(old)})
        changes.append(FieldChange(shown, **values))
    return replace(target_of(after), changes=tuple(changes))


def application_target(application: str) -> Target:
    """Return an application by its id."""
    return Target("application", application, application)


def event_type_target(name: str) -> Target:
    """Return an event type by its name."""
    return Target("event-type", name)


def environment_target(environment: str) -> Target:
    """Return an environment, of which only the policy can be changed."""
    return Target("environment", environment, changes=(FieldChange("policy"),))


def message_target(application: str, message: str) -> Target:
    """Return a message whose deliveries are cancelled, or whose payload is deleted."""
    return Target("message", message, application)


def attempt_target(application: str, attempt: str) -> Target:
    """Return an attempt whose response is deleted."""
    return Target("attempt", attempt, application)


def revoked_target(application: str, keys: int) -> Target:
    """Return an application of which this number of keys is revoked."""
    revoked = (FieldChange("revokedKeys", after=keys),)
    return replace(application_target(application), changes=revoked)


def task_target(task: Task) -> Target:
    """Return what a task is about: its endpoint, or its application. The task itself is named."""
    started = (FieldChange("task", after=task.id),)
    if task.endpoint:
        return Target("endpoint", task.endpoint, task.application, started)
    return replace(application_target(task.application), changes=started)


def resend_target(endpoint: Endpoint, message: str) -> Target:
    """Return a message that is sent to an endpoint again."""
    to_endpoint = (FieldChange("endpoint", after=endpoint.id),)
    return Target("message", message, endpoint.application, to_endpoint)


def _plain(value: object) -> Value:
    """Return a value as JSON has it; several names become one text."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)

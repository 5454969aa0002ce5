"""An event type of an environment's messages."""

from msgspec import Struct


class EventType(Struct, frozen=True, kw_only=True):
    """A name that messages carry, with its description and the schemas of their payloads.

    `schemas` is a JSON object, version to JSON Schema, stored as received. If the type
    `validates`, payloads must fit the newest schema. Lists omit an archived type unless it is
    requested; messages may still carry it.
    """

    environment: str
    name: str
    description: str
    archived: bool = False
    deprecated: bool = False
    schemas: str | None = None
    feature_flags: tuple[str, ...] = ()
    group: str | None = None
    validates: bool = False
    created_at: float
    updated_at: float

    @property
    def bytes(self) -> int:
        """The size of its schemas. All other fields are short."""
        return 0 if self.schemas is None else len(self.schemas.encode())

"""A type of event: what an environment's messages can be about."""

from msgspec import Struct


class EventType(Struct, frozen=True, kw_only=True):
    """A name that messages carry, with its description and the schemas of their payloads.

    `schemas` is a JSON object, version to JSON Schema, as it came in; if the type `validates`,
    messages must fit the newest of them. An archived one is left out of lists unless asked for;
    messages may still carry it.
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

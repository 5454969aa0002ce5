"""Limits on what one application may store, so that no tenant can fill the service's memory."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from tarry.errors import SettingsError

MOST_DESCRIPTION = 4096
"""The most characters of a description."""


class Sizes(Struct, frozen=True, kw_only=True):
    """How many endpoints an application may have, and how large their fields may be.

    `metadata` is in bytes as JSON, of an application and of an endpoint. `filters` is in bytes of
    all names, for an endpoint's event types and for its channels.
    """

    endpoints: int = 1000
    metadata: int = 16_384
    filters: int = 16_384

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            value = getattr(self, field)
            if type(value) is not int or value < 0:
                raise SettingsError(f"sizes.{field}", value, "a whole number from 0 on")

    def check_metadata(self, metadata: Mapping[str, str] | None) -> None:
        """Raise SettingsError if metadata is too large."""
        if metadata:
            _check_bytes("metadata", len(msgspec.json.encode(metadata)), self.metadata)

    def check_filter(self, field: str, names: Iterable[str] | None) -> None:
        """Raise SettingsError if the names of a filter are too large together."""
        size = sum(len(name.encode()) for name in names or ())
        _check_bytes(field, size, self.filters)


SIZES = Sizes()
"""The limits of a service whose settings name none."""


def check_description(description: str | None) -> None:
    """Raise SettingsError if a description is too long."""
    if description is not None and len(description) > MOST_DESCRIPTION:
        wanted = f"at most {MOST_DESCRIPTION} characters"
        raise SettingsError("description", f"{len(description)} characters", wanted)


def _check_bytes(field: str, size: int, most: int) -> None:
    if size > most:
        raise SettingsError(field, f"{size} bytes", f"at most {most} bytes")

"""Refuse large bodies that would take long to parse, before they are parsed.

msgspec checks the length of a list only after it has decoded every entry, which takes 0.3 s for the
millions of entries that fit into a batch. Meanwhile no other request is answered.
"""

from msgspec import Raw, Struct

from tarry.service.api.http.parsing import read_body

LARGE = 64 * 1024
"""Smaller bodies are parsed at once."""
MOST_FIELD = 64 * 1024
"""The most bytes of a field besides the payload. No valid list of channels or tags has as many."""
MOST_DECODED = 256 * 1024
"""The most bytes of all `application` and headers together. Their names and values may be short, so
that a megabyte takes 0.1 s."""
MOST_MESSAGES = 1000
"""The most messages in one request."""

_NO_PAYLOAD = Raw(b"")


class _Parameters(Struct, rename="camel"):
    """The part of `transformationsParams` that is not sent as it is."""

    headers: Raw = _NO_PAYLOAD

    def __post_init__(self) -> None:
        _check_length("headers", self.headers)


class _Entry(Struct, rename="camel"):
    """A message whose fields are skipped, not decoded."""

    channels: Raw = _NO_PAYLOAD
    tags: Raw = _NO_PAYLOAD
    application: Raw = _NO_PAYLOAD
    transformations_params: _Parameters | None = None

    def __post_init__(self) -> None:
        for name in ("channels", "tags", "application"):
            _check_length(name, getattr(self, name))
        parameters = self.transformations_params
        size = _length(self.application) + (_length(parameters.headers) if parameters else 0)
        _sizes.append(size + (_sizes[-1] if _sizes else 0))
        if len(_sizes) > MOST_MESSAGES:
            raise ValueError(f"Expected `array` of length <= {MOST_MESSAGES}")
        if _sizes[-1] > MOST_DECODED:
            detail = "`application` and `headers` of all messages have more than"
            raise ValueError(f"{detail} {MOST_DECODED} bytes; send the messages in several batches")


_sizes: list[int] = []
"""For each entry of the body that is being read: the bytes of `application` and headers so far.
msgspec stops at the first entry that raises an error, and nothing else runs meanwhile."""


def check_shape(body: bytes, *, batch: bool) -> None:
    """Raise Invalid if a large body has too many messages, or a field that is too long."""
    if len(body) <= LARGE:
        return
    try:
        read_body(body, list[_Entry] if batch else _Entry)
    finally:
        _sizes.clear()


def _check_length(name: str, field: Raw) -> None:
    """Raise ValueError if a field is too long."""
    if _length(field) > MOST_FIELD:
        raise ValueError(f"`{name}` has more than {MOST_FIELD} bytes")


def _length(field: Raw) -> int:
    """Return how many bytes the JSON of a field has."""
    return len(memoryview(field))

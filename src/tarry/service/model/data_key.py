"""A data key: seals the stored payloads and responses of one application."""

from msgspec import Struct


class DataKey(Struct, frozen=True, kw_only=True):
    """A data key as it is stored: `sealed` with one of the service's sealing keys.

    An application has at most one. Rows name it by its `id`, which is never used again: a row whose
    key is gone was erased.
    """

    id: str
    application: str
    sealed: bytes
    created_at: float

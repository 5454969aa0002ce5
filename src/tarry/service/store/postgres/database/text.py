"""Refuse text that PostgreSQL cannot store, before sending it."""

from tarry.errors import StoreError
from tarry.service.model.text import SHOWN


def refuse_nul(*texts: str | None) -> None:
    """Raise if a text contains NUL, which would make the whole transaction fail."""
    for text in texts:
        if text is not None and "\0" in text:
            raise StoreError(f"text with a NUL character cannot be stored: {text[:SHOWN]!r}")

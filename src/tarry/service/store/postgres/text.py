"""Refuse text that PostgreSQL cannot keep, before it is asked to."""

from tarry.errors import StoreError
from tarry.service.model.text import SHOWN


def refuse_nul(*texts: str | None) -> None:
    """Raise if there is a NUL in a text: it would fail the whole transaction."""
    for text in texts:
        if text is not None and "\0" in text:
            raise StoreError(f"text with a NUL character cannot be stored: {text[:SHOWN]!r}")

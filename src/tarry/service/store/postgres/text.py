"""Refuse text that PostgreSQL cannot keep, before it is asked to; or mend what is not ours."""

from tarry.errors import StoreError

SHOWN = 80
"""Characters of a text that are shown in an error."""


def refuse_nul(*texts: str | None) -> None:
    """Raise if there is a NUL in a text: it would fail the whole transaction."""
    for text in texts:
        if text is not None and "\0" in text:
            raise StoreError(f"text with a NUL character cannot be stored: {text[:SHOWN]!r}")


def mend(text: str) -> str:
    """Text that came from outside, without what cannot be stored."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")

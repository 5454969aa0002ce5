"""The log line of a notice: what happened to which endpoint, and the facts as `name=value`."""

import json
import re
from datetime import UTC, datetime

from tarry.service.model.lane import Notice

INSTANTS = frozenset({"since", "attempted_at"})
"""The facts that are seconds since 1970."""
_PLAIN = re.compile(r"[\w.:/+-]+")


def notice_text(notice: Notice) -> str:
    """Return the log line of a notice. A fact without a value is left out."""
    facts = (
        f"{name}={_value(name, value)}" for name, value in notice.facts.items() if value is not None
    )
    return " ".join((f"{notice.kind}: {notice.endpoint}", *facts))


def _value(name: str, value: str | float) -> str:
    """Return a fact's value: an instant in ISO 8601, and text with spaces in quotes."""
    if name in INSTANTS and not isinstance(value, str):
        at = datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds")
        return at.replace("+00:00", "Z")
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)

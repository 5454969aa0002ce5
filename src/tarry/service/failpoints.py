"""Points where a test can kill this process: around every commit and every send.

`TARRY_FAILPOINT=settle.before` arms a point, `settle.before:3` for the third time it is passed.
There the process kills itself as `kill -9` would. A point that is not armed costs next to nothing.
"""

import os
import signal
from typing import Literal, get_args

from tarry.errors import SettingsError

VARIABLE = "TARRY_FAILPOINT"

Name = Literal[
    "add.before",
    "add.after",
    "advance.before",
    "advance.after",
    "answer.before",
    "answer.after",
    "application.before",
    "application.after",
    "cancel.before",
    "cancel.after",
    "change.before",
    "change.after",
    "claim.before",
    "claim.after",
    "collect.before",
    "collect.after",
    "delete.before",
    "delete.after",
    "endpoint.before",
    "endpoint.after",
    "environment.before",
    "environment.after",
    "expire.before",
    "expire.after",
    "expunge.before",
    "expunge.after",
    "learn.before",
    "learn.after",
    "lease.before",
    "lease.after",
    "policy.before",
    "policy.after",
    "release.before",
    "release.after",
    "renew.before",
    "renew.after",
    "resend.before",
    "resend.after",
    "rest.before",
    "rest.after",
    "settle.before",
    "settle.after",
    "sweep.before",
    "sweep.after",
    "task.before",
    "task.after",
    "woken.before",
    "woken.after",
    "fetch.after",
    "send.before",
    "send.begun",
    "send.written",
    "send.answered",
    "settle.start",
    "settle.told",
    "drain.start",
]
"""`before` and `after` surround a commit; the stores pass these points. The others are on the path
of an attempt from its row to its settlement."""
NAMES: tuple[Name, ...] = get_args(Name)

_armed: Name | None = None
_left = 0


def hit(name: Name) -> None:
    """Pass a point, and die there if it is armed for this time."""
    if _armed is not None:
        _count_pass(name)


def armed() -> bool:
    """Return whether any point is armed."""
    return _armed is not None


def arm(text: str | None) -> None:
    """Arm the point given as `name` or `name:nth`; None arms nothing."""
    global _armed, _left  # one process, one death
    name, colon, nth = (text or "").partition(":")
    point = next((candidate for candidate in NAMES if candidate == name), None)
    if text is not None and (point is None or (colon and not (nth.isdecimal() and int(nth)))):
        raise SettingsError(VARIABLE, text, f"NAME or NAME:NTH, with one of {', '.join(NAMES)}")
    _armed, _left = point, int(nth or 1)


def _count_pass(name: Name) -> None:
    """Count a pass of this fail-point, and kill the process at the armed one."""
    global _left  # noqa: PLW0603  as above
    if name == _armed:
        _left -= 1
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


arm(os.environ.get(VARIABLE))

"""The entry point of the `tarry` command.

Nothing that an extra installs is imported at the top: if it is missing, one line says what to
install.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

CANNOT_START = 2
EXTRAS = frozenset({"click", "rich"})


def main() -> None:
    """Run the command that was typed, and exit with its code."""
    try:
        with _interruptible():
            from tarry.cli.commands import tarry  # noqa: PLC0415  it needs the extra
        if sys.stdout is None:  # the parent process closed it: discard all output
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  open until the process ends
        tarry(prog_name="tarry")
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in EXTRAS:
            raise
        sys.stderr.write("tarry's command line needs: pip install 'tarry[cli]'\n")
        raise SystemExit(CANNOT_START) from None


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the process quietly during imports, before a command can handle it.

    If the parent process made this one ignore Ctrl-C, it still does.
    """
    has_default_handler = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if has_default_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if has_default_handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)

"""Copy a database's log into its file beside the work, so that no commit waits for it.

SQLite would copy a long log at the end of whichever commit made it long, and all who share that
commit would wait. Here a thread copies the bulk, and the writer what came meanwhile: only when all
of it was copied, and nobody reads from it, does the next commit begin the log anew.
"""

from contextlib import suppress
from pathlib import Path
from threading import Thread

import apsw

from tarry.service.store.sqlite.connection import connect

LONG_PAGES = 16_000
"""About 64 MB: pages that many commits touch are copied once."""
MORE_PAGES = LONG_PAGES // 16
"""How much longer a log may get that could not be begun anew, before the next try.

Where there is no room for more, it is as long as a log may get at all.
"""
PAGE = 4096
SHARE = 4
"""One part in so many of the room that is kept back may be in the log: it needs as much again in
the file, and a disk can be small."""


class Log:
    """The log of one writer's connection."""

    def __init__(self, db: apsw.Connection, path: Path) -> None:
        self.pages = 0
        self._db = db
        self._path = path
        self._tried = 0
        self._copying: Thread | None = None
        db.set_wal_hook(self._note)  # which takes the place of SQLite's own copying

    def tidy(self, *, is_short_of_room: bool = False, reserve: int = 0) -> None:
        """Begin to copy a log that is long, or end what was begun; between two transactions.

        `reserve` are the bytes that are kept back on its disk, 0 if none are.
        """
        if self._copying is not None:
            if self._copying.is_alive():
                return
            self._copying = None
            _copy(self._db)
            self._tried = self.pages
        elif self.pages < self._tried:  # it was begun anew
            self._tried = 0
        long = MORE_PAGES if is_short_of_room else LONG_PAGES
        if reserve:
            long = min(long, reserve // SHARE // PAGE)
        if self.pages >= max(long, self._tried and self._tried + MORE_PAGES):
            self._copying = Thread(target=self._copy_bulk, name="tarry-log", daemon=True)
            self._copying.start()

    def leave(self) -> None:
        """Wait for what was begun."""
        if self._copying is not None:
            self._copying.join()

    def _note(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        self.pages = pages
        return apsw.SQLITE_OK

    def _copy_bulk(self) -> None:
        with suppress(apsw.Error):  # a file that is gone: whoever writes will hear of it
            db = connect(self._path)
            _copy(db)
            db.close()


def _copy(db: apsw.Connection) -> None:
    with suppress(apsw.Error):  # it stays in the log until the next try
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

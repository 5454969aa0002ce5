"""Copy a database's write-ahead log into its file in the background, so that no commit waits.

SQLite would copy a long log at the end of the commit that made it long, and all callers in that
commit would wait. Here a thread copies most of it, and the writer copies the pages added meanwhile.
The next commit restarts the log only if all of it was copied and no reader uses it.
"""

from contextlib import suppress
from pathlib import Path
from threading import Thread

import apsw

from tarry.service.store.sqlite.connection import connect

LONG_PAGES = 16_000
"""About 64 MB: a page that many commits change is then copied once."""
MORE_PAGES = LONG_PAGES // 16
"""How much a log may grow after a copy that could not restart it, before the next try.

When the disk is short of room, this is the length from which a log is copied.
"""
PAGE = 4096
SHARE = 4
"""The log may use one part in this many of the disk reserve: a copy may need the same room again in
the file, and a disk can be small."""


class Log:
    """The write-ahead log of the writer's connection."""

    def __init__(self, db: apsw.Connection, path: Path) -> None:
        self.pages = 0
        self._db = db
        self._path = path
        self._tried = 0
        self._copying: Thread | None = None
        db.set_wal_hook(self._note)  # this replaces SQLite's own copying

    def tidy(self, *, is_short_of_room: bool = False, reserve: int = 0) -> None:
        """Start to copy a long log, or finish the copy that was started; between transactions.

        `reserve` is the number of bytes kept free on the disk, 0 for none.
        """
        if self._copying is not None:
            if self._copying.is_alive():
                return
            self._copying = None
            _copy(self._db)
            self._tried = self.pages
        elif self.pages < self._tried:  # the log was restarted
            self._tried = 0
        long = MORE_PAGES if is_short_of_room else LONG_PAGES
        if reserve:
            long = min(long, reserve // SHARE // PAGE)
        if self.pages >= max(long, self._tried and self._tried + MORE_PAGES):
            self._copying = Thread(target=self._copy_bulk, name="tarry-log", daemon=True)
            self._copying.start()

    def leave(self) -> None:
        """Wait until the running copy has ended."""
        if self._copying is not None:
            self._copying.join()

    def _note(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        self.pages = pages
        return apsw.SQLITE_OK

    def _copy_bulk(self) -> None:
        with suppress(apsw.Error):  # the file is gone: the next write reports it
            db = connect(self._path)
            _copy(db)
            db.close()


def _copy(db: apsw.Connection) -> None:
    with suppress(apsw.Error):  # the pages stay in the log until the next try
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

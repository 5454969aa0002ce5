"""A disk that can be filled: a small one if we may mount it, else a limit on files' sizes."""

import errno
import os
import resource
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.faults.nursery import Child

SIZE = 64 * 1024 * 1024
"""Room for a log of writes as long as it may become."""
PIECE = 64 * 1024


class Disk:
    """A folder on it, which `fill` lets no more be written to until `free`."""

    def __init__(self, folder: Path, *, mounted: bool) -> None:
        self.folder = folder
        self._mounted = mounted
        self._limited: list[Child] = []

    def fill(self, writers: Sequence[Child]) -> None:
        """Leave no room, to these processes at least."""
        if not self._mounted:
            self._limited = list(writers)
            for child in writers:
                resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
            return
        with (self.folder / "ballast").open("wb", buffering=0) as ballast:
            for piece in (PIECE, 512):
                with suppress(OSError):
                    while ballast.write(b"\0" * piece) == piece:
                        pass

    def press(self, room: int) -> None:
        """Fill up this many bytes of the disk."""
        with (self.folder / "ballast").open("wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, room)

    def free(self) -> None:
        """Let there be room again."""
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        for child in self._limited:
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, unlimited)
        (self.folder / "ballast").unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    folder.mkdir()
    mounted = os.geteuid() == 0 and _mount(folder)
    try:
        yield Disk(folder, mounted=mounted)
    finally:
        if mounted:
            subprocess.run(["/bin/umount", "--lazy", folder], check=True)


def _mount(folder: Path) -> bool:
    command = ["/bin/mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        return False

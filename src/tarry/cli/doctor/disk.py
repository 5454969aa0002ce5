"""The doctor's checks of an SQLite file: its file system, the free space, its log and its mode."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from tarry.cli.doctor.finding import Finding, advice, ok, wrong

NETWORK = frozenset(
    {"9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}
    | {"fuse.ceph", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"}
)
"""Network file systems: SQLite's locks and write-ahead log do not work reliably on them."""
FLEETING = frozenset({"ramfs", "tmpfs"})
MOUNTS = Path("/proc/self/mounts")
WAL = b"\x02\x02"
"""Bytes 18 and 19 of a file with a write-ahead log, according to SQLite's file format."""


def on_disk(path: Path, reserve: int | None, mounts: Path = MOUNTS) -> Iterator[Finding]:
    """Check the file system, the free space on it, the write-ahead log and the modes."""
    file = path.resolve()
    if mounts.exists():
        yield file_system(file, mounts.read_text("utf-8", "surrogateescape"))
    yield _room(file, reserve)
    with file.open("rb") as opened:
        head = opened.read(20)
    if head[18:20] == WAL:
        yield ok("log", "SQLite uses a write-ahead log")
    else:
        yield wrong("log", "no write-ahead log: the file system may not support it")
    yield _privacy(file)


def _privacy(file: Path) -> Finding:
    """Report which of the database's files other users of this machine can open."""
    from tarry.service.build import sqlite_exposed  # noqa: PLC0415  it needs the extra

    names = [shlex.quote(str(path)) for path in sqlite_exposed(file)]
    if names:
        problem = "other users of this machine may open the database: its files have payloads"
        return wrong("mode", f"{problem}; run chmod 600 {' '.join(names)}")
    return ok("mode", "only their owner may open the database's files")


def file_system(file: Path, mounts: str) -> Finding:
    """Check which file system a file is on: the one with the longest mount point above it."""
    rows = (line.split(" ") for line in mounts.splitlines())
    places = {row[1].replace("\\040", " "): row[2] for row in rows if len(row) > 2}  # noqa: PLR2004  the fields of a mount
    above = [str(folder) for folder in file.parents if str(folder) in places]
    kind = places[above[0]] if above else "unknown"
    if kind in NETWORK:
        problem = f"{kind} at {above[0]} is a network file system: use a local disk, or PostgreSQL"
        return wrong("disk", problem)
    if kind in FLEETING:
        return advice("disk", f"{kind} at {above[0]} is lost at a restart: use a disk")
    return ok("disk", f"{kind}, a local disk")


def _room(file: Path, reserve: int | None) -> Finding:
    """Report whether the disk has more free space than the reserve."""
    from tarry.service.build import sqlite_room  # noqa: PLC0415  it needs the extra

    available, minimum = sqlite_room(file, reserve)
    free = f"{available // 1_000_000} MB free"
    limit = f"{minimum // 1_000_000} MB"
    if available < minimum:
        return wrong("room", f"{free}: messages are rejected, because less than {limit} is free")
    word = advice if available < 4 * minimum else ok
    return word("room", f"{free}; messages are rejected below {limit}")

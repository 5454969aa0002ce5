from pathlib import Path

import pytest

from tarry.cli.doctor.disk import WAL, file_system, on_disk
from tarry.cli.doctor.finding import State

MOUNTS = (
    "/dev/sda / ext4 rw 0 0\nserver:/x /mnt/far nfs4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n"
    "/dev/sdb /mnt/far/near ext4 rw 0 0\n/dev/sdc /with\\040space xfs rw 0 0\nodd\n"
)


@pytest.mark.parametrize(
    ("file", "state", "kind"),
    [
        ("/var/hooks.db", State.OK, "ext4"),
        ("/mnt/far/hooks.db", State.WRONG, "nfs4"),
        ("/mnt/far/near/hooks.db", State.OK, "ext4"),
        ("/run/a/hooks.db", State.ADVICE, "tmpfs"),
        ("/with space/hooks.db", State.OK, "xfs"),
    ],
)
def test_a_disk_must_be_of_this_machine(file: str, state: State, kind: str) -> None:
    found = file_system(Path(file), MOUNTS)
    assert (found.state, found.words.split(" ")[0].strip(",")) == (state, kind)


def test_where_nothing_is_mounted_nothing_is_said() -> None:
    assert file_system(Path("/x/y"), "").words.startswith("unknown")


def found_of(tmp_path: Path, mode: bytes, reserve: int | None) -> dict[str, State]:
    file = tmp_path / "hooks.db"
    file.write_bytes(bytes(18) + mode)
    return {one.check: one.state for one in on_disk(file, reserve)}


def test_the_room_and_the_log_are_looked_at(tmp_path: Path) -> None:
    found = found_of(tmp_path, WAL, 1)
    assert (found["room"], found["log"]) == (State.OK, State.OK)
    assert found["disk"] in {State.OK, State.ADVICE}
    assert found_of(tmp_path, b"\1\1", None)["log"] is State.WRONG
    assert found_of(tmp_path, WAL, 2**60)["room"] is State.WRONG


def test_without_a_list_of_mounts_the_rest_is_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "hooks.db"
    file.write_bytes(bytes(18) + WAL)
    found = on_disk(file, 1, tmp_path / "none")
    assert [one.check for one in found] == ["room", "log", "mode"]

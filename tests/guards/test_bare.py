"""./dev bare finds the systems it can make, says what it lacks, and reports what failed."""

import os
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
MIRROR = "http://mirror.example/debian"
RELEASES = {
    ("debian", "stable"): "Codename: trixie\nVersion: 13.7\n",
    ("ubuntu", "noble"): "Codename: noble\nVersion: 24.04\n",
}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load .ci/bare.py as a module."""
    spec = spec_from_file_location("bare", ROOT / ".ci" / "bare.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bare", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def mirror(bare: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let apt know one mirror, which has Debian's newest release and an Ubuntu."""

    def release_field(mirror: str, suite: str, field: str) -> str | None:
        text = RELEASES.get((mirror.rpartition("/")[2], suite), "")
        fields = dict(line.split(": ") for line in text.splitlines())
        return fields.get(field)

    monkeypatch.setattr(
        bare, "output", lambda _: f"{MIRROR}-security/ Debian-Security\n{MIRROR}/ Debian\n"
    )
    monkeypatch.setattr(bare, "release_field", release_field)


@pytest.mark.usefixtures("mirror")
def test_the_systems_are_debian_12_the_newest_debian_and_ubuntu(bare: ModuleType) -> None:
    systems = bare.find_systems()
    assert [(system.name, system.suite, system.mirror) for system in systems] == [
        ("debian-12", "bookworm", MIRROR),
        ("debian-13", "trixie", MIRROR),
        ("ubuntu-24.04", "noble", "http://mirror.example/ubuntu"),
    ]


@pytest.mark.usefixtures("mirror")
def test_a_system_that_the_mirror_lacks_is_left_out_and_named(
    bare: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bare, "release_field", lambda *_: None)
    assert [system.name for system in bare.find_systems()] == ["debian-12"]
    said = capsys.readouterr().out
    assert "newest Debian: not on this machine's mirror" in said
    assert "Ubuntu: not on this machine's mirror" in said


@pytest.mark.usefixtures("mirror")
def test_packages_that_cannot_be_verified_are_used_only_if_the_user_accepts_that(
    bare: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bare, "UBUNTU_KEYRING", tmp_path / "missing.gpg")
    systems = bare.find_systems()
    kept = bare.refuse_unsigned(systems, accepted=False)
    assert [system.name for system in kept] == ["debian-12", "debian-13"]
    assert "--unsigned" in capsys.readouterr().out
    assert bare.refuse_unsigned(systems, accepted=True) == systems
    (tmp_path / "missing.gpg").touch()
    assert bare.refuse_unsigned(bare.find_systems(), accepted=False)[2].name == "ubuntu-24.04"


@pytest.mark.usefixtures("mirror")
def test_an_unknown_system_is_answered_with_the_known_ones(bare: ModuleType) -> None:
    with pytest.raises(bare.Stop, match="no system is named debian-11; there are: debian-12, deb"):
        bare.choose(bare.find_systems(), ["debian-11"])


def test_without_root_one_line_says_what_to_do(
    bare: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert bare.main([]) == 2
    assert capsys.readouterr().err == (
        "dev bare: making a system of its own needs root: run it with sudo, or as root\n"
    )


def test_without_debootstrap_one_line_says_what_to_install(
    bare: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "debootstrap" else name)
    assert bare.main([]) == 2
    assert "debootstrap is missing: apt-get install debootstrap" in capsys.readouterr().err


def test_what_failed_is_picked_from_the_log(bare: ModuleType) -> None:
    log = """\
dev: setting up .venv
types     ok      111.5 s
FAILED tests/a.py::test_one - AssertionError
ERROR tests/b.py - TypeError
FAILED: library
"""
    assert bare.failures_in(log) == (
        "FAILED tests/a.py::test_one - AssertionError",
        "ERROR tests/b.py - TypeError",
    )


def test_a_result_has_passed_only_if_both_commands_did_all_they_should(
    bare: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    good = bare.Result("debian-12", "ann", "3.11.2", 85.4, 900.0, ())
    bad = bare.Result("debian-13", "root", "3.13.5", None, 20.0, ("ERROR tests/b.py",))
    assert good.passed
    assert not bad.passed
    assert not bare.Result("debian-12", "ann", "3.11.2", None, 900.0, ()).passed
    bare.print_results([good, bad])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["debian-12", "ann", "3.11.2", "85", "s", "900", "s", "all", "well"]
    assert lines[3].split() == ["debian-13", "root", "3.13.5", "-", "20", "s", "FAILED"]
    assert lines[4].strip() == "ERROR tests/b.py"


def test_only_the_way_to_the_package_registries_is_carried_into_a_tree(
    bare: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CERT", "/etc/ssl/certs/ca-certificates.crt")
    monkeypatch.setenv("https_proxy", "http://proxy.example")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-x")
    monkeypatch.setenv("TARRY_TEST_KILLS", "1")
    inside = bare.Inside(tmp_path, "ann", Path("/srv/ann/tarry"), tmp_path / "log")
    assert inside.variables == {
        "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
        "https_proxy": "http://proxy.example",
        "HOME": "/srv/ann",
        "USER": "ann",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TERM": "dumb",
    }


def test_dev_bare_hands_its_arguments_on() -> None:
    said = subprocess.run(
        [sys.executable, str(ROOT / "dev"), "bare", "--help"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "--unsigned" in said
    assert "./dev bare" in said

"""./dev sets up once, notices when it must again, and says plainly what it cannot do."""

import json
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any  # ./dev is a script: what is loaded from it has no types

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load ./dev as a module that takes an empty folder for its checkout."""
    loader = SourceFileLoader("dev", str(ROOT / "dev"))
    spec = spec_from_loader("dev", loader)
    assert spec
    dev = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "dev", dev)
    loader.exec_module(dev)
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # it removes the variable
    (tmp_path / "pyproject.toml").write_text("[project]")
    return dev


@pytest.fixture
def environment(dev: ModuleType, tmp_path: Path) -> Any:
    lock = tmp_path / "dev.txt"
    lock.write_text("one==1.0")
    return dev.Environment(tmp_path / "venv", lock, ())


@pytest.fixture
def stages(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the stages of set-up instead of going through them."""
    gone_through: list[str] = []

    def build(environment: Any) -> None:
        gone_through.append("build")
        environment.stamp.unlink(missing_ok=True)
        python = Path(environment.program("python"))
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()

    monkeypatch.setattr(dev, "build", build)
    monkeypatch.setattr(dev, "install_project", lambda *_, **__: gone_through.append("project"))
    return gone_through


def test_an_environment_is_set_up_once(
    dev: ModuleType, environment: Any, stages: list[str]
) -> None:
    dev.make_ready(environment)
    dev.make_ready(environment)
    assert stages == ["build", "project"]


def test_a_changed_lock_means_a_new_environment(
    dev: ModuleType, environment: Any, stages: list[str]
) -> None:
    dev.make_ready(environment)
    environment.lock.write_text("one==2.0")
    dev.make_ready(environment)
    assert stages == ["build", "project", "build", "project"]


def test_changed_settings_mean_only_a_new_installation_of_the_project(
    dev: ModuleType, environment: Any, stages: list[str]
) -> None:
    dev.make_ready(environment)
    (dev.ROOT / "pyproject.toml").write_text("[project]\nname = 'tarry'")
    dev.make_ready(environment)
    assert stages == ["build", "project", "project"]


def test_another_python_means_a_new_environment(
    dev: ModuleType, environment: Any, stages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dev.make_ready(environment)
    monkeypatch.setattr(sys, "version", "4.0")
    dev.make_ready(environment)
    assert stages == ["build", "project", "build", "project"]


def test_a_moved_checkout_means_a_new_environment(
    dev: ModuleType, environment: Any, stages: list[str], tmp_path: Path
) -> None:
    dev.make_ready(environment)
    moved = environment.folder.rename(tmp_path / "moved")
    dev.make_ready(dev.Environment(moved, environment.lock, ()))
    assert stages == ["build", "project", "build", "project"]


def test_an_environment_behind_a_link_is_left_alone(
    dev: ModuleType, environment: Any, stages: list[str], tmp_path: Path
) -> None:
    dev.make_ready(environment)
    before = environment.stamp.read_text()
    link = tmp_path / "checkout" / "venv"
    link.parent.mkdir()
    link.symlink_to(environment.folder)
    with pytest.raises(dev.Stop, match=r"checkout/venv is a symbolic link to .*rm checkout/venv"):
        dev.make_ready(dev.Environment(link, environment.lock, ()))
    assert stages == ["build", "project"]
    assert environment.stamp.read_text() == before


def test_a_dangling_link_is_left_alone(
    dev: ModuleType, environment: Any, stages: list[str], tmp_path: Path
) -> None:
    environment.folder.symlink_to(tmp_path / "gone")
    with pytest.raises(dev.Stop, match="symbolic link"):
        dev.make_ready(environment)
    assert stages == []


def test_a_lost_python_means_a_new_environment(
    dev: ModuleType, environment: Any, stages: list[str]
) -> None:
    dev.make_ready(environment)
    Path(environment.program("python")).unlink()
    dev.make_ready(environment)
    assert stages == ["build", "project", "build", "project"]


def test_half_a_stamp_means_a_new_environment(
    dev: ModuleType, environment: Any, stages: list[str]
) -> None:
    dev.make_ready(environment)
    environment.stamp.write_text('{"folder": ')
    dev.make_ready(environment)
    assert stages == ["build", "project", "build", "project"]


def test_an_interrupted_stage_is_gone_through_again(
    dev: ModuleType, environment: Any, stages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for stage in ("build", "install_project"):
        with monkeypatch.context() as patch:
            patch.setattr(dev, stage, interrupted)
            with pytest.raises(KeyboardInterrupt):
                dev.make_ready(environment)
    dev.make_ready(environment)
    assert stages == ["build", "project"]


def test_packages_are_those_of_the_lock_and_no_others(
    dev: ModuleType, environment: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[list[str]] = []
    monkeypatch.setattr(dev, "make_venv", lambda _: ["pip"])
    monkeypatch.setattr(dev, "must", lambda command, **_: installed.append(command))
    dev.build(environment)
    ((*options, name, lock),) = installed
    assert {"--no-deps", "--require-hashes"} <= set(options)
    assert (name, lock) == ("--requirement", str(environment.lock))


def test_half_an_installation_means_a_new_environment(
    dev: ModuleType, environment: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    works = iter([1, 0])  # pip fails with what is there, and works in a new environment

    def captured(command: list[str], *_: object) -> Any:
        made.append(" ".join(command[2:4]))
        return dev.subprocess.CompletedProcess(command, next(works), "")

    monkeypatch.setattr(dev, "captured", captured)
    monkeypatch.setattr(dev, "build", lambda _: made.append("build"))
    dev.install_project(environment, again=True)
    assert made == ["pip install", "build", "pip install"]


PIP = """\
Ignoring colorama: markers 'os_name == "nt"' don't match your environment
Collecting one==1.0 (from -r dev.txt (line 1))
  Downloading one-1.0-py3-none-any.whl (1.2 MB)
Collecting two-fold==2.0 (from -r dev.txt (line 3))
  Using cached two_fold-2.0-cp311-cp311-manylinux.whl
""".splitlines()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "fetching 4 packages"),
        (PIP[:2], "fetching 3 packages"),
        (PIP[:3], "fetching one (1.2 MB), 2 of 3 packages left"),
        (PIP, "fetching two_fold (cached), 1 of 3 packages left"),
        ([*PIP, "Installing collected packages: one"], "unpacking packages, 2 of 3 left"),
    ],
)
def test_set_up_says_what_is_being_fetched_and_how_much_is_left(
    dev: ModuleType, environment: Any, lines: list[str], said: str
) -> None:
    environment.lock.write_text("one==1.0 \\\n  --hash=x\ntwo-fold==2.0\nthree==3.0\ncolorama==0.4")
    (environment.folder / "lib/python3.11/site-packages/one-1.0.dist-info").mkdir(parents=True)
    assert dev.ShowInstallation(environment).text(lines) == said


def test_a_log_gets_a_line_of_progress_now_and_then(
    dev: ModuleType,
    environment: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 0.0
    monkeypatch.setattr(dev.time, "monotonic", lambda: now)
    show = dev.ShowInstallation(environment)
    for now in range(2 * int(dev.SELDOM) + 1):  # noqa: B007  the clock reads it
        show([])
    assert capsys.readouterr().err == 2 * "dev: fetching 1 packages\n"


def test_a_program_is_watched_while_it_runs_and_its_output_is_kept(
    dev: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    go_on = tmp_path / "go-on"
    code = f"""
import pathlib, time
print("first", flush=True)
while not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.01)
print("second")
raise SystemExit(3)
"""
    seen: list[list[str]] = []

    def watch(lines: list[str]) -> None:
        seen.append(lines)
        if lines:
            go_on.touch()

    with pytest.raises(dev.Stop, match="this failed"):
        dev.must([sys.executable, "-c", code], tmp_path, watch=watch)
    assert ["first"] in seen
    assert "first\nsecond" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("root", "fetched"),
    [
        (True, ["apt-get", "install", "--yes", "--no-install-recommends", "python3-venv"]),
        (False, ["apt-get", "download", "python3-pip-whl"]),
    ],
    ids=["root", "ordinary user"],
)
def test_a_python_without_venv_is_helped_by_a_debian_package(
    dev: ModuleType,
    environment: Any,
    monkeypatch: pytest.MonkeyPatch,
    root: bool,  # noqa: FBT001 - pytest passes it by name
    fetched: list[str],
) -> None:
    wheel = environment.folder / "borrowed/usr/share/python-wheels/pip-1-py3-none-any.whl"
    ran: list[list[str]] = []

    def run(command: list[str], _: object = None) -> bool:
        ran.append(command)
        if "--without-pip" in command:
            environment.folder.mkdir()
        if "dpkg-deb" in command:
            wheel.parent.mkdir(parents=True)
            wheel.touch()
        return command[1:3] != ["-m", "venv"]

    monkeypatch.setattr(dev, "succeeds", run)
    monkeypatch.setattr(dev, "must", run)
    monkeypatch.setattr(dev, "can_apt", lambda: True)
    monkeypatch.setattr(dev, "is_root", lambda: root)
    pip = dev.make_venv(environment)
    assert fetched in ran
    assert pip[1:] == (["-m", "pip"] if root else [str(wheel / "pip")])


def test_without_venv_and_without_packages_one_line_says_what_to_do(
    dev: ModuleType, environment: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev, "succeeds", lambda *_: False)
    monkeypatch.setattr(dev, "can_apt", lambda: False)
    with pytest.raises(dev.Stop, match="install Python's venv module"):
        dev.make_venv(environment)


def test_an_old_python_is_told_so_in_one_line(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 12, "final", 0))
    assert dev.main(["test"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "3.11 or newer" in line
    assert "3.10.12" in line


def test_an_interrupted_command_leaves_without_a_traceback(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dev, "make_ready", interrupted)
    assert dev.main(["run"]) == 130


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("simulate", "simulation"),
        ("mutate", "mutation"),
        ("measure", "measure"),
        ("audit", "audit"),
    ],
)
def test_a_program_of_the_tests_gets_all_arguments(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, command: str, module: str
) -> None:
    class Gone(Exception):  # noqa: N818 - the process has become another program
        pass

    def hand_over(*words: str) -> None:
        raise Gone(*words)

    monkeypatch.setattr(dev, "make_ready", lambda _: None)
    monkeypatch.setattr(dev, "hand_over", hand_over)
    with pytest.raises(Gone) as gone:
        dev.main([command, "--seed", "3", "--help"])
    assert gone.value.args[1:] == ("-m", f"tests.{module}", "--seed", "3", "--help")


def test_an_unknown_benchmark_is_answered_with_the_known_ones(
    dev: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    (dev.ROOT / "benchmarks").mkdir()
    (dev.ROOT / "benchmarks" / "overhead.py").touch()
    assert dev.main(["bench", "speed"]) == 2
    assert capsys.readouterr().err == "dev: No benchmark is named speed. There are: overhead\n"


def test_one_failing_step_does_not_keep_the_others_from_running(
    dev: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def step(name: str, code: str, *, closing_words: bool = False) -> object:
        return dev.Step(name, [sys.executable, "-c", code], closing_words)

    # Each of two that run side by side ends only when the other has begun.
    meet = "open({0!r}, 'w').close()\nwhile not os.path.exists({1!r}): pass"
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    wrong = "print('what went wrong'); raise SystemExit(3)"
    chosen = [
        [step("one", "print('hidden\\nSKIPPED one\\n== in short ==')", closing_words=True)],
        [
            step("two", f"import os\n{meet.format(here, there)}\n{wrong}"),
            step("three", f"import os\n{meet.format(there, here)}"),
        ],
        [step("four", "print('hidden')")],
    ]
    monkeypatch.setattr(dev, "make_ready", lambda _: None)
    monkeypatch.setattr(dev, "steps", lambda amount, _: chosen if amount == "usual" else [])
    assert dev.main(["test"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in said] == [
        ["one", "ok"],
        ["SKIPPED", "one"],
        ["in", "short"],
        ["two", "FAILED"],
        ["what", "went"],
        ["three", "ok"],
        ["four", "ok"],
        ["took", "0.0"],
        ["FAILED:", "two"],
    ]


def test_a_run_reports_how_long_it_and_its_steps_took_and_keeps_that(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = iter(
        2
        * [
            dev.Outcome(passed=True, seconds=2.04, output=""),
            dev.Outcome(passed=False, seconds=61.0, output=""),
        ]
    )
    monkeypatch.setattr(dev, "make_ready", lambda _: None)
    monkeypatch.setattr(dev, "outcome", lambda _: next(ends))
    monkeypatch.setattr(dev, "steps", lambda *_: [[dev.Step("one", [])], [dev.Step("two", [])]])
    monkeypatch.setattr(dev, "commit", lambda: "c0ffee")
    assert [dev.main(["test"]), dev.main(["test", "--quick"])] == [1, 1]
    assert "took 0.0 min: two 61 s, one 2 s\n" in capsys.readouterr().out
    lines = (dev.ROOT / "build/test-1/durations.jsonl").read_text().splitlines()
    first, second = map(json.loads, lines)
    assert (first["amount"], second["amount"]) == ("usual", "quick")
    assert first["ended_at"] <= second["ended_at"]
    assert first["steps"] == {"one": 2.0, "two": 61.0}
    assert (first["commit"], first["failed"]) == ("c0ffee", ["two"])


def test_the_processes_of_the_tests_may_keep_what_they_compile(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(dev, "make_ready", lambda _: None)
    code = "import sys; raise SystemExit(sys.dont_write_bytecode)"
    step = dev.Step("one", [sys.executable, "-c", code])
    monkeypatch.setattr(dev, "steps", lambda *_: [[step]])
    assert dev.main(["test"]) == 0, capfd.readouterr().out


def test_a_folder_without_a_commit_has_none(dev: ModuleType) -> None:
    assert dev.commit() is None


@pytest.fixture
def tests_of(
    dev: ModuleType, environment: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Let ./dev test run one group of tests, those of this code, and then one more step."""
    programs = Path(sys.executable).parent
    monkeypatch.setattr(dev, "DEV", dev.Environment(programs.parent, environment.lock, ()))
    monkeypatch.setattr(dev, "make_ready", lambda _: None)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they need none and start faster
    (dev.ROOT / "pytest.ini").touch()  # theirs, not that of a folder above

    def write(code: str) -> None:
        (dev.ROOT / "test_it.py").write_text(f"import os, pathlib, pytest\n{code}")
        later = dev.Step("later", [sys.executable, "-c", "print('later')"])
        chosen = [[dev.group("tests", "", "test_it.py")], [later]]
        monkeypatch.setattr(dev, "steps", lambda *_: chosen)

    return write


ONCE = """
def test_that_fails_once():
    been = pathlib.Path("been")
    known = been.exists()
    been.touch()
    assert known, "nobody was here"
def test_other(): pass
"""


@pytest.mark.parametrize(
    "code",
    [
        ONCE,
        "def test_that_ends_it_all(): os._exit(1)",
        "assert pathlib.Path('been').exists() or pathlib.Path('been').touch()",
        "",
    ],
    ids=["one test", "the process", "loading", "no test at all"],
)
def test_a_failure_fails_the_run_even_if_the_next_run_would_pass(
    dev: ModuleType, tests_of: Callable[[str], None], capsys: pytest.CaptureFixture[str], code: str
) -> None:
    tests_of(code)
    assert dev.main(["test"]) == 1
    said = capsys.readouterr().out
    assert [line.split()[:2] for line in said.splitlines() if line.startswith("later")] == [
        ["later", "ok"]
    ]
    assert said.endswith("\nFAILED: tests\n")


def test_what_failed_in_an_earlier_run_does_not_count(
    dev: ModuleType, tests_of: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    tests_of(ONCE)
    assert [dev.main(["test"]), dev.main(["test"])] == [1, 0]
    said = capsys.readouterr().out
    assert "nobody was here" in said
    assert said.endswith("\nall well\n")


def files_in(paths: Iterable[str]) -> set[Path]:
    return {
        file
        for path in paths
        for file in ([ROOT / path] if path.endswith(".py") else (ROOT / path).rglob("test_*.py"))
    }


def chosen_by(command: list[str]) -> set[Path]:
    """The files with tests that a group runs."""
    left_out = [word.removeprefix("--ignore=") for word in command if "--ignore=" in word]
    return files_in(word for word in command if word.startswith("tests")) - files_in(left_out)


def test_each_test_is_in_one_group_of_the_usual_run(dev: ModuleType) -> None:
    groups = [step.command for step in dev.usual_steps(Path("own")) if "-m" in step.command]
    chosen = [file for command in groups for file in chosen_by(command)]
    once = {file for file in chosen if not file.is_relative_to(ROOT / "tests/core")}
    assert set(chosen) == files_in(["tests"])
    # The core has two groups: the tests that are traced and those that take seconds.
    assert len(chosen) == len(once) + 2 * len(files_in(["tests/core"]))
    core = [command for command in groups if "tests/core" in command]
    marked = [command[len(command) - command[::-1].index("-m")] for command in core]
    assert marked == ["not slow and not long", "slow and not long"]


def test_a_long_run_has_all_of_the_usual_one_and_what_that_leaves_out(dev: ModuleType) -> None:
    own = Path("own")
    usual, long = dev.steps("usual", own), dev.steps("long", own)
    assert long[: len(usual)] == usual
    (more,) = long[len(usual) :]
    commands = {step.name: step.command for step in more}
    assert commands["long"][-1] == "tests"
    assert "long" in commands["long"]


@pytest.mark.parametrize("groups", ["GROUPS", "QUICK_GROUPS"])
def test_every_path_of_a_group_exists(dev: ModuleType, groups: str) -> None:
    for path in (path for paths in getattr(dev, groups).values() for path in paths):
        assert (ROOT / path).exists(), path


def test_two_runs_in_one_checkout_write_into_folders_of_their_own(dev: ModuleType) -> None:
    with dev.own_folder() as first:
        with dev.own_folder() as second:
            assert first != second
            assert (dev.ROOT / first).is_dir()
            assert (dev.ROOT / second).is_dir()
        with dev.own_folder() as third:
            assert third == second
    with dev.own_folder() as fourth:
        assert fourth == first


@pytest.mark.parametrize("amount", ["quick", "usual", "long"])
def test_what_a_run_writes_lies_in_its_folder(dev: ModuleType, amount: str) -> None:
    for step in (step for together in dev.steps(amount, Path("own")) for step in together):
        program = Path(step.command[0]).name
        place = {"mypy": "own/types", "lint-imports": "own/layers", "sphinx-build": "own/docs"}
        if program in place:
            assert place[program] in step.command
        elif program == "coverage":
            assert "--data-file=own/coverage" in step.command
        elif program == "pytest":
            assert "no:cacheprovider" in step.command


@pytest.mark.parametrize(
    "line",
    ["--index-url x", "-i x", "--find-links x", "one @ file:x", "# from https://x"],
)
def test_a_lock_that_names_an_address_is_refused(
    dev: ModuleType, environment: Any, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    def resolve(command: list[str]) -> None:
        draft = command[command.index("--output-file") + 1]
        (dev.ROOT / draft).write_text(f"one==2.0\n{line}\n")

    monkeypatch.setattr(dev, "must", resolve)
    with pytest.raises(dev.Stop, match="would name an address"):
        dev.make_lock(environment, upgrade=True)
    assert [path.name for path in dev.ROOT.glob("dev.*")] == ["dev.txt"]
    assert environment.lock.read_text() == "one==1.0"


def test_the_doctor_says_what_is_missing_and_what_to_do(
    dev: ModuleType,
    environment: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(dev, "DEV", environment)
    monkeypatch.setattr(dev, "BENCH", environment)
    assert dev.main(["doctor"]) == 0
    assert "later    PostgreSQL: looked for once venv is set up" in capsys.readouterr().out
    environment.lock.unlink()
    assert dev.main(["doctor"]) == 2
    assert "restore dev.txt from version control" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "state"), [("", "there"), ("; raise SystemExit(1)", "missing")], ids=["found", "not"]
)
def test_the_doctor_names_the_postgresql_of_the_tests(
    dev: ModuleType, environment: Any, monkeypatch: pytest.MonkeyPatch, code: str, state: str
) -> None:
    monkeypatch.setattr(dev, "DEV", environment)
    monkeypatch.setattr(dev, "read_stamp", dev.fingerprint)
    look = [sys.executable, "-c", f"print('PostgreSQL 15'){code}"]
    captured = dev.captured
    monkeypatch.setattr(dev, "captured", lambda _: captured(look))
    finding = dev.find_postgres()
    assert finding.state == state
    assert finding.text.startswith("PostgreSQL 15")

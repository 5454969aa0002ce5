"""Run the README's two commands on bare machines: minimal Debian and Ubuntu trees, made for this.

Each tree holds what debootstrap calls minbase, python3, git and CA certificates, and nothing else.
The committed project is cloned into a home folder there. `./dev run` must become ready, then
`./dev test` must pass. Started by `./dev bare`; needs root, debootstrap and about 3 GB of disk.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
CANNOT_START = 2
PACKAGES = "python3,git,ca-certificates"
ORDINARY = "ann"
READY_WITHIN = 900.0  # seconds for the set-up and the start on a slow machine
TEST_WITHIN = 5400.0
UBUNTU_KEYRING = Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
UBUNTU_LTS = ("resolute", "noble")  # the newest first; older ones have a Python below 3.11
CARRIED_FILES = (
    "etc/resolv.conf",
    "etc/hosts",
    "etc/pip.conf",
    "etc/ssl/certs/ca-certificates.crt",
)
CARRIED_VARIABLES = re.compile(r"(?i)PIP_|NPM_CONFIG_|(HTTPS?|NO|ALL)_PROXY$|\w+_CA_|SSL_CERT_")
"""How this machine reaches its package registries is carried over, and nothing else of it."""


class Stop(Exception):  # noqa: N818 - an ending, not an error: its text is all the user sees
    """The command cannot go on; the text says what to do."""


@dataclass(frozen=True)
class System:
    """A system that debootstrap can make, from a mirror of packages."""

    name: str
    suite: str
    mirror: str
    options: tuple[str, ...] = ()
    script: str | None = None


@dataclass(frozen=True)
class Result:
    """What the two commands did on one system for one user."""

    system: str
    user: str
    python: str
    ready_after: float | None
    tested_in: float | None
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether both commands did what the README says."""
        return self.ready_after is not None and self.tested_in is not None and not self.failures


def main(arguments: Sequence[str]) -> int:
    """Check every system as every user, and print how each went."""
    options = command_line().parse_args(arguments)
    signal.signal(signal.SIGTERM, interrupted)
    try:
        refuse_what_cannot_work()
        systems = refuse_unsigned(find_systems(), accepted=options.unsigned)
        chosen = choose(systems, options.system)
        with work_folder(options.folder, keep=options.keep) as folder:
            results = check_all(chosen, options.user or ["root", ORDINARY], folder)
    except Stop as stop:
        print(f"dev bare: {stop}", file=sys.stderr)
        return CANNOT_START
    except KeyboardInterrupt:
        print("\ndev bare: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    print_results(results)
    return 0 if all(result.passed for result in results) else 1


def interrupted(*_: object) -> None:
    """End as after Ctrl-C: what was started is stopped, and the trees go."""
    raise KeyboardInterrupt


def command_line() -> argparse.ArgumentParser:
    """Describe the options."""
    parser = argparse.ArgumentParser(prog="./dev bare", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--system",
        action="append",
        metavar="NAME",
        help="only this system, for example debian-12; may be repeated",
    )
    parser.add_argument(
        "--user",
        action="append",
        choices=["root", ORDINARY],
        help="only as root, or only as the ordinary user ann; both if not given",
    )
    parser.add_argument(
        "--unsigned",
        action="store_true",
        help="also make a system whose packages cannot be verified for lack of a keyring",
    )
    parser.add_argument(
        "--folder", type=Path, help="where trees and logs go; a new one if left out"
    )
    parser.add_argument("--keep", action="store_true", help="leave the trees for a look")
    return parser


def refuse_what_cannot_work() -> None:
    """Stop before anything is made if this machine lacks something."""
    if os.geteuid() != 0:
        raise Stop("making a system of its own needs root: run it with sudo, or as root")
    for program, package in (
        ("debootstrap", "debootstrap"),
        ("apt-get", "apt"),
        ("unshare", "util-linux"),
        ("git", "git"),
    ):
        if not shutil.which(program):
            raise Stop(f"{program} is missing: apt-get install {package}")
    changed = output(["git", "-C", str(PROJECT), "status", "--porcelain"])
    if changed:
        say("only what is committed is checked; these files have other changes:")
        print(changed.rstrip(), flush=True)


# --- Which systems ------------------------------------------------------------------------------


def find_systems() -> list[System]:
    """List Debian 12, the newest Debian and the newest Ubuntu LTS, as far as mirrors have them."""
    mirror = debian_mirror()
    systems = [System("debian-12", "bookworm", mirror)]
    stable = codename(mirror, "stable")
    if stable not in {None, "bookworm"}:
        version = release_field(mirror, "stable", "Version") or ""
        systems.append(System(f"debian-{version.partition('.')[0]}", str(stable), mirror))
    else:
        say("newest Debian: not on this machine's mirror, left out")
    ubuntu = find_ubuntu(mirror.removesuffix("/debian") + "/ubuntu")
    if ubuntu is None:
        say("Ubuntu: not on this machine's mirror, left out")
    return systems if ubuntu is None else [*systems, ubuntu]


def find_ubuntu(mirror: str) -> System | None:
    """Return the newest Ubuntu LTS of a mirror, which is often beside Debian's."""
    for suite in UBUNTU_LTS:
        version = release_field(mirror, suite, "Version")
        if version:
            trust = f"--keyring={UBUNTU_KEYRING}" if UBUNTU_KEYRING.exists() else "--no-check-gpg"
            # An older debootstrap does not know new names; all of Ubuntu is made in the same way.
            options = (trust, "--components=main,universe")  # what Ubuntu itself starts with
            return System(f"ubuntu-{version}", suite, mirror, options, "gutsy")
    return None


def refuse_unsigned(systems: Sequence[System], *, accepted: bool) -> list[System]:
    """Leave out systems whose packages cannot be verified, unless the user accepts that."""
    if accepted:
        return list(systems)
    for system in systems:
        if "--no-check-gpg" in system.options:
            say(
                f"{system.name}: left out, its packages cannot be verified here."
                " Install ubuntu-keyring, or accept unverified packages with --unsigned"
            )
    return [system for system in systems if "--no-check-gpg" not in system.options]


def debian_mirror() -> str:
    """Return the mirror that this machine's apt uses for Debian's main archive."""
    wanted = "$(REPO_URI) $(LABEL)"
    for line in output(["apt-get", "indextargets", "--format", wanted]).splitlines():
        address, _, label = line.partition(" ")
        if label == "Debian":
            return address.rstrip("/")
    raise Stop("apt knows no Debian mirror here: run apt-get update first")


def release_field(mirror: str, suite: str, field: str) -> str | None:
    """Read a field of a suite's release file; None if the mirror does not have the suite."""
    try:
        with urllib.request.urlopen(f"{mirror}/dists/{suite}/InRelease", timeout=30) as answer:  # noqa: S310 - apt's own mirror
            text = answer.read(4096).decode(errors="replace")
    except (urllib.error.URLError, OSError):
        return None
    found = re.search(rf"^{field}: (\S+)", text, re.MULTILINE)
    return found.group(1) if found else None


def codename(mirror: str, suite: str) -> str | None:
    """Return the codename of a suite, None if the mirror does not have it."""
    return release_field(mirror, suite, "Codename")


def choose(systems: Sequence[System], names: Sequence[str] | None) -> list[System]:
    """Pick the named systems; all of them if none is named."""
    if not names:
        return list(systems)
    known = {system.name: system for system in systems}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Stop(f"no system is named {unknown[0]}; there are: {', '.join(known)}")
    return [known[name] for name in names]


# --- One system, one user -----------------------------------------------------------------------


def check_all(systems: Sequence[System], users: Sequence[str], folder: Path) -> list[Result]:
    """Check every system as every user, each in a new tree, one after the other."""
    results = []
    for system in systems:
        base = folder / system.name
        make_tree(system, base, folder / f"{system.name}.log")
        for user in users:
            tree = folder / f"{system.name}-{user}"
            run(["cp", "--archive", str(base), str(tree)])
            results.append(check(system.name, user, tree))
            run(["rm", "--recursive", "--force", "--one-file-system", str(tree)])
    return results


def make_tree(system: System, tree: Path, log: Path) -> None:
    """Make a minimal system with this machine's way to the package registries."""
    say(f"{system.name}: making a minimal system, a minute or two")
    script = [system.script] if system.script else []
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", *system.options]
    with log.open("w") as written:
        made = subprocess.run(
            [*command, system.suite, str(tree), system.mirror, *script],
            stdout=written,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    if made.returncode:
        raise Stop(f"debootstrap failed; its last lines, of {log}:\n{last_lines(log, 5)}")
    for name in CARRIED_FILES:
        if Path("/", name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path("/", name), tree / name)
    for settings in Path("/etc/apt/apt.conf.d").glob("*"):
        if "docker" not in settings.name and re.search("Acquire::", settings.read_text()):
            shutil.copy(settings, tree / "etc/apt/apt.conf.d")


def check(system: str, user: str, tree: Path) -> Result:
    """Clone the project for a user of a tree and run the two commands."""
    log = tree.with_name(f"{tree.name}.log")
    home = tree / ("root" if user == "root" else f"home/{user}")
    if user != "root":
        run(["chroot", str(tree), "useradd", "--create-home", "--shell", "/bin/bash", user])
    run(["git", "clone", "--quiet", "--no-hardlinks", str(PROJECT), str(home / "tarry")])
    place = Path("/", home.relative_to(tree), "tarry")
    run(["chroot", str(tree), "chown", "--recursive", f"{user}:", str(place)])
    python = output(["chroot", str(tree), "python3", "--version"]).removeprefix("Python ").strip()
    say(f"{system}, {user}: Python {python}; ./dev run, then ./dev test; details in {log}")
    inside = Inside(tree, user, place, log)
    ready_after = first_ready(inside)
    say(f"{system}, {user}: {ready_text(ready_after)}")
    started = time.monotonic()
    code = inside.run_to_end(["./dev", "test"], TEST_WITHIN)
    tested_in = time.monotonic() - started
    failures = failures_in(log.read_text(errors="replace"))
    if code and not failures:
        failures = (f"./dev test ended with code {code}",)
    result = Result(system, user, python, ready_after, tested_in, failures)
    say(f"{system}, {user}: ./dev test {'passed' if not code else 'FAILED'} in {tested_in:.0f} s")
    return result


def ready_text(after: float | None) -> str:
    """Describe how ./dev run went."""
    return "./dev run was NOT ready" if after is None else f"./dev run was ready in {after:.0f} s"


def first_ready(inside: "Inside") -> float | None:
    """Start ./dev run and return how long it took until /readyz answered, None if it did not."""
    port = free_port()
    inside.variables["TARRY_LISTEN"] = f"127.0.0.1:{port}"
    started = time.monotonic()
    with inside.started(["./dev", "run"]) as process:
        while process.poll() is None and time.monotonic() - started < READY_WITHIN:
            if answers(f"http://127.0.0.1:{port}/readyz"):
                return time.monotonic() - started
            time.sleep(0.2)
    return None


class Inside:
    """Runs programs inside a tree, as one of its users, with nothing of this machine but /dev.

    They have process ids and mounts of their own: whatever they leave behind ends with them.
    """

    def __init__(self, tree: Path, user: str, folder: Path, log: Path) -> None:
        self._tree, self._user, self._folder, self._log = tree, user, folder, log
        home = str(folder.parent)
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        carried = {
            name: value for name, value in os.environ.items() if CARRIED_VARIABLES.match(name)
        }
        carried.pop("PIP_FIND_LINKS", None)  # a folder of this machine
        self.variables = {**carried, "HOME": home, "USER": user, "PATH": path, "TERM": "dumb"}

    @contextmanager
    def started(self, command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Start a program; it is stopped in the end, with all that it started."""
        settings = [f"{name}={value}" for name, value in self.variables.items()]
        # The shell stays, as root and as the first process: when it is killed, all others are.
        mounts = 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && chroot "$@"'
        inner = ["env", "--ignore-environment", f"--chdir={self._folder}", *settings, *command]
        space = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [
                    *(*space, "sh", "-c", f"{mounts}; exit $?", str(self._tree)),
                    *(f"--userspec={self._user}:", str(self._tree), *inner),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield process
        finally:
            process.kill()  # and with it, by --kill-child, everything in its process ids
            process.wait()

    def run_to_end(self, command: Sequence[str], within: float) -> int:
        """Run a program to its end and return its exit code, or -1 if it took too long."""
        with self.started(command) as process:
            try:
                return process.wait(within)
            except subprocess.TimeoutExpired:
                return -1


# --- Small things -------------------------------------------------------------------------------


@contextmanager
def work_folder(given: Path | None, *, keep: bool) -> Iterator[Path]:
    """Give a folder for trees and logs; trees go in the end, logs stay."""
    folder = given or Path(tempfile.mkdtemp(prefix="tarry-bare-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder.resolve()
    finally:
        for tree in folder.iterdir():
            if tree.is_dir() and not keep:
                run(["rm", "--recursive", "--force", "--one-file-system", str(tree)])
        say(f"the logs are in {folder}")


def print_results(results: Sequence[Result]) -> None:
    """Print a line for each system and user, and what failed."""
    print(f"\n{'system':<14}{'user':<6}{'python':<9}{'ready':>8}{'tested':>9}  verdict")
    for result in results:
        verdict = "all well" if result.passed else "FAILED"
        print(
            f"{result.system:<14}{result.user:<6}{result.python:<9}"
            f"{seconds(result.ready_after):>8}{seconds(result.tested_in):>9}  {verdict}"
        )
        for failure in result.failures:
            print(f"    {failure}")


def seconds(value: float | None) -> str:
    """Write a duration, or a dash if there was none."""
    return "-" if value is None else f"{value:.0f} s"


def failures_in(text: str) -> tuple[str, ...]:
    """Pick the lines of a log that name what failed."""
    return tuple(re.findall(r"^(?:FAILED|ERROR) .*$", text, re.MULTILINE))


def answers(address: str) -> bool:
    """Tell whether a server answers with success."""
    try:
        with urllib.request.urlopen(address, timeout=2) as answer:  # noqa: S310 - this machine's own
            return bool(answer.status == 200)  # noqa: PLR2004 - success
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    """Return a port of this machine that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def last_lines(log: Path, count: int) -> str:
    """Return the end of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:])


def output(command: Sequence[str]) -> str:
    """Run a program that has to succeed and return what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def run(command: Sequence[str]) -> None:
    """Run a program that has to succeed."""
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def say(text: str) -> None:
    """Print a line about what is happening."""
    print(f"dev bare: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

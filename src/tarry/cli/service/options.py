"""What the commands of the service share: where settings come from, and how errors end.

A flag overrides an environment variable, which overrides the file `tarry.toml`. An unknown key in
the file is an error.
"""

import asyncio
import logging
import signal
import tomllib
from collections.abc import Callable, Coroutine, Mapping
from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from tarry.cli.exit_codes import UNUSABLE, WRONG
from tarry.cli.extras import needed_for
from tarry.cli.input.byte_size import ByteSize
from tarry.cli.input.option_group import option_group
from tarry.cli.input.ranges import Number, Whole
from tarry.cli.service.core_files import write_no_core_files
from tarry.core.nearest import nearest
from tarry.errors import ServiceError, SettingsError, StoreError

if TYPE_CHECKING:
    from tarry.service.model.settings import Limits

SETTINGS_FILE = Path("tarry.toml")
FOUND = "tarry.settings.found"
"""Set in a context whose settings come from `tarry.toml` in the folder, not from a named file."""
EXIT_CODES = (
    "Exit codes: 0, stopped with nothing in flight; 1, stopped with attempts in flight;"
    " 2, a setting is wrong; 3, the database cannot be used."
)
DATABASE_CODES = (
    "Exit codes: 0, success; 2, the command line or a setting is wrong; 3, the database cannot"
    " be used."
)
KNOWN_SETTINGS = (
    *("allow_network", "api_key", "api_key_file", "authorities", "certificate", "db"),
    *("disk_reserve", "grace", "in_flight", "key", "key_file", "key_rate", "lease", "listen"),
    *("metrics_key", "metrics_key_file", "most_endpoints", "most_filters", "most_metadata"),
    *("most_waiting", "ports", "proxy", "public_url", "redact", "seal_payloads", "server"),
    "trusted_proxy",
)
LISTS = ("allow_network", "redact", "trusted_proxy")
"""Settings that may have several values."""
SWITCHES = ("seal_payloads",)
"""Settings that are true or false."""

C = TypeVar("C", bound=Callable[..., object])
P = ParamSpec("P")
T = TypeVar("T")


class WrongSettings(click.ClickException):
    """A setting is wrong; one line says which."""

    exit_code = WRONG


class NoDatabase(click.ClickException):
    """The database cannot be used; one line says why."""

    exit_code = UNUSABLE


def from_file(context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Take defaults from a settings file; by default from `tarry.toml` in this folder."""
    file = path or (SETTINGS_FILE if SETTINGS_FILE.exists() else None)
    if file is None:
        return None
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise WrongSettings(f"{file} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise WrongSettings(f"{file} cannot be read: {error}") from error
    check_keys(document, str(file))
    check_values(document, str(file))
    for key in LISTS:
        if isinstance(value := document.get(key), str):
            document[key] = [value]
    context.default_map = {**(context.default_map or {}), **document}
    if path is None:
        context.meta[FOUND] = True
    return file


def check_keys(document: Mapping[str, object], source: str) -> None:
    """Refuse an unknown key."""
    for key in document:
        if key not in KNOWN_SETTINGS:
            close = nearest(key, KNOWN_SETTINGS)
            hint = (
                f"; did you mean {close!r}?"
                if close
                else f"; known are {', '.join(KNOWN_SETTINGS)}"
            )
            raise WrongSettings(f"{source}: there is no setting {key!r}{hint}")


def check_values(document: Mapping[str, object], source: str) -> None:
    """Refuse a value of the wrong type. The value is not shown, since it may be a secret."""
    for key, value in document.items():
        if key in SWITCHES:
            if not isinstance(value, bool):
                raise WrongSettings(f"{source}: the setting {key!r} must be true or false")
            continue
        values = value if key in LISTS and isinstance(value, list) else [value]
        if any(
            isinstance(item, bool) or not isinstance(item, str | int | float) for item in values
        ):
            wanted = "a text, or a list of them" if key in LISTS else "a text or a number"
            raise WrongSettings(f"{source}: the setting {key!r} must be {wanted}")


config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    callback=from_file,
    is_eager=True,
    expose_value=False,
    help="A TOML file with settings; tarry.toml in this folder if there is one.",
)


def setting(flag: str, **attributes: Any) -> Callable[[C], C]:  # noqa: ANN401  click's arguments
    """Declare an option with its environment variable: `--key-rate` and `TARRY_KEY_RATE`."""
    variable = f"TARRY_{flag.removeprefix('--').replace('-', '_').upper()}"
    shown = attributes.get("default") is not None
    return click.option(flag, envvar=variable, show_envvar=True, show_default=shown, **attributes)


db_option = partial(
    setting, "--db", metavar="URL", help="sqlite:///FILE or postgresql://USER@HOST/NAME"
)
"""A factory: some commands require this option, others have a default or do without."""
allow_network_option = setting(
    "--allow-network",
    multiple=True,
    metavar="NETWORK",
    help="A private network that may be called, e.g. 10.0.0.0/8; repeatable. Default: none.",
)
ports_option = setting(
    "--ports",
    default="80, 443, 1024-65535",
    help="The ports that may be called.",
)

proxy_option = setting(
    "--proxy",
    metavar="URL",
    help="An egress proxy that every request goes through, e.g. http://proxy:3128. Default: none.",
)
authorities_option = setting(
    "--authorities",
    type=click.Path(path_type=Path),
    help="A PEM file of authorities to trust in addition to the system's.",
)
certificate_option = setting(
    "--certificate",
    type=click.Path(path_type=Path),
    help="A PEM file with a client certificate and its key, of mode 0600.",
)


most_waiting_option = setting(
    "--most-waiting",
    type=Whole(min=0),
    metavar="N",
    help="Reject messages of an application when it has more waiting deliveries than this, unless"
    " it has its own quota. Default: no limit.",
)
disk_reserve_option = setting(
    "--disk-reserve",
    type=ByteSize(),
    help="Reject new messages when free disk space falls below this (SQLite only); 0 disables the"
    " check. Default: 256MB, or a twentieth of a smaller disk.",
)


wire_options = option_group(
    allow_network_option,
    ports_option,
    proxy_option,
    authorities_option,
    certificate_option,
)
"""How endpoints are called: options of every command that sends requests."""


seal_payloads_option = setting(
    "--seal-payloads",
    is_flag=True,
    help="Store payloads and responses sealed, with a key for each application, so that they can be"
    " erased by deleting the key. Default: off.",
)
"""Whether payloads are sealed: an option of every command that stores messages or responses."""


quota_options = option_group(
    most_waiting_option,
    disk_reserve_option,
)
"""How much may wait: options of every command that accepts messages."""


size_options = option_group(
    setting(
        "--most-endpoints",
        type=Whole(min=0),
        default=1000,
        metavar="N",
        help="The most endpoints of an application.",
    ),
    setting(
        "--most-metadata",
        type=ByteSize(),
        default="16384",
        help="The most metadata of an application or an endpoint, as JSON.",
    ),
    setting(
        "--most-filters",
        type=ByteSize(),
        default="16384",
        help="The largest list of event types or channels of an endpoint.",
    ),
)
"""How much an application may store: options of every command that serves the API."""


dispatch_options = option_group(
    setting(
        "--in-flight",
        type=Whole(min=1),
        default=1000,
        metavar="N",
        help="At most this many attempts at a time.",
    ),
    setting(
        "--lease",
        type=Number(min=1),
        default=10.0,
        metavar="SECONDS",
        help="How long a worker keeps its shards without renewing its lease.",
    ),
    setting(
        "--grace",
        type=Number(min=0),
        default=30.0,
        metavar="SECONDS",
        help="How long to wait for attempts in flight before it stops.",
    ),
)
"""How much a dispatcher does at a time, and how it stops."""


def dispatch_limits(*, in_flight: int, lease: float, grace: float) -> "Limits":
    """Return the dispatcher's limits that these options set."""
    from tarry.service.model.settings import Limits  # noqa: PLC0415  it needs the extra

    return Limits(in_flight=in_flight, lease=lease, margin=min(2.0, lease / 5), grace=grace)


def serving(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Run a command of the service on an event loop; an error ends it with a line and a code."""

    def run(*args: P.args, **options: P.kwargs) -> T:
        write_no_core_files()
        logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
        try:
            with needed_for("the webhook service"):
                import uvloop  # noqa: PLC0415  it needs the extra

                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    return runner.run(work(*args, **options))
        except asyncio.CancelledError:
            click.echo("stopped before it was ready", err=True)
            raise click.exceptions.Exit(0) from None
        except SettingsError as error:
            raise WrongSettings(str(error)) from error
        except StoreError as error:
            raise NoDatabase(str(error)) from error
        except ServiceError as error:
            raise click.ClickException(str(error)) from error

    return update_wrapper(run, work)


class StopSignals:
    """Handles SIGTERM and Ctrl-C: the first one stops gently, the second one at once.

    A command that is still starting is cancelled instead of stopped: it may be waiting for
    something slow, such as another process that changes the schema.
    """

    def __init__(self) -> None:
        self.stop, self.hurry = asyncio.Event(), asyncio.Event()
        self._second_signal_calls: list[Callable[[], None]] = [self.hurry.set]
        self._starting_task = asyncio.current_task()

    def end_of_start(self) -> None:
        """Say that the start is over, and that `stop` is watched from now on."""
        self._starting_task = None

    def on_second_signal(self, call: Callable[[], None]) -> None:
        """Call this at the second signal; at once if that has come already."""
        self._second_signal_calls.append(call)
        if self.hurry.is_set():
            call()

    def __call__(self) -> None:
        """Handle a signal."""
        if not self.stop.is_set():
            self.stop.set()
            if self._starting_task is not None:
                self._starting_task.cancel()
        elif not self.hurry.is_set():
            click.echo("Stopping now, without waiting for attempts in flight.", err=True)
            for call in self._second_signal_calls:
                call()


def watch_stop_signals() -> StopSignals:
    """Install the signal handlers; call this before any request is sent."""
    signals = StopSignals()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, signals)
    return signals


def ended(*, drained: bool) -> None:
    """Report that a dispatcher has stopped; exit with 1 if attempts were still in flight."""
    if not drained:
        raise click.exceptions.Exit(1)
    click.echo("stopped; no attempts are in flight", err=True)

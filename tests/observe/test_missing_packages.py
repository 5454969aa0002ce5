import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("adapter", "package", "extra"),
    [
        ("structlog", "structlog", "structlog"),
        ("prometheus", "prometheus_client", "prometheus"),
        ("otel", "opentelemetry", "otel"),
    ],
)
def test_a_missing_package_is_one_clear_line(adapter: str, package: str, extra: str) -> None:
    script = f"import sys; sys.modules[{package!r}] = None; import tarry.observe.{adapter}"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.startswith(f"ModuleNotFoundError: tarry.observe.{adapter} needs ")
    assert last.endswith(f": pip install 'tarry[{extra}]'")
    assert run.stderr.count("Traceback") == 1


def test_the_adapters_come_in_only_when_asked_for() -> None:
    script = "import sys, tarry.observe; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert "tarry" in loaded
    assert not loaded & {"structlog", "prometheus_client", "opentelemetry", "logging"}

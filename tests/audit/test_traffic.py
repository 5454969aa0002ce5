"""The markers in a real service: the audit passes, and fails if one is given away."""

from pathlib import Path

import pytest

from tests.audit import traffic
from tests.audit.canary import Markers, check_canary

pytestmark = pytest.mark.slow


def test_a_real_service_keeps_its_markers(tmp_path: Path) -> None:
    markers, places, open_files = traffic.run(tmp_path / "service")
    assert check_canary(markers, places).problems == ()
    assert open_files == []
    assert {"log", "metrics", "pages", "errors", "database", "core file"} <= places.keys()
    assert b"ready: " in places["log"]
    assert places["errors"].count(b'"detail"') > 10


def test_a_key_on_the_command_line_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = traffic.Service

    def careless(folder: Path, markers: Markers, _more: object) -> traffic.Service:
        return started(folder, markers, ("--api-key", markers.api_key))

    monkeypatch.setattr(traffic, "Service", careless)
    markers, places, _ = traffic.run(tmp_path / "service")
    assert check_canary(markers, places).problems == ("the api key is in: command line",)

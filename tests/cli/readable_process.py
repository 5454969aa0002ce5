"""Keep the process of the tests as it is when a command runs in it.

A command of the service makes its process unreadable for other processes of the same user. Tests
that run later in the process read and reset their own memory counters.
"""

import pytest


@pytest.fixture(autouse=True)
def readable_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarry.cli.service.options.write_no_core_files", lambda: None)

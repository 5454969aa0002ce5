import logging
from collections.abc import Callable
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

import tarry
from tarry.observe import Retrying, Succeeded, listen
from tarry.observe.structlog import Logger


def test_a_story_in_events(story: Callable[[], None]) -> None:
    listen(Logger())
    with capture_logs() as told:
        story()
    assert [(entry["log_level"], entry["event"]) for entry in told] == [
        ("debug", "tarry.attempted"),
        ("warning", "tarry.retrying"),
        ("debug", "tarry.attempted"),
        ("warning", "tarry.retrying"),
        ("debug", "tarry.attempted"),
        ("info", "tarry.succeeded"),
        ("debug", "tarry.attempted"),
        ("warning", "tarry.retrying"),
        ("warning", "tarry.breaker_moved"),
        ("debug", "tarry.attempted"),
        ("error", "tarry.gave_up"),
    ]
    assert told[1] == {
        "log_level": "warning",
        "event": "tarry.retrying",
        "call": "fetch",
        "attempt": 1,
        "delay": 2.0,
        "outcome": "transient",
        "error": "ConnectionError",
        "error_message": "reset",
    }
    assert told[8] == {
        "log_level": "warning",
        "event": "tarry.breaker_moved",
        "breaker": "bank",
        "before": "closed",
        "after": "open",
        "retry_at": 38.5,
    }
    assert "hunter2" not in str(told)


def test_messages_of_exceptions_can_be_left_out() -> None:
    with capture_logs() as told:
        Logger(errors="type")(Retrying("fetch", 1, 2.0, tarry.Failure(), OSError("secret")))
    assert "secret" not in str(told)
    assert told[0]["error"] == "OSError"


def test_values_bound_to_your_logger_are_told_too() -> None:
    with capture_logs() as told:
        Logger(structlog.get_logger().bind(tenant="acme"))(Succeeded("fetch", 2, 1.0))
    assert told[0]["tenant"] == "acme"


def test_any_kind_of_structlog_logger_will_do(capsys: pytest.CaptureFixture[str]) -> None:
    plain = structlog.wrap_logger(
        structlog.PrintLogger(),
        processors=[structlog.processors.LogfmtRenderer(key_order=["event", "call"])],
        wrapper_class=structlog.BoundLogger,
    )
    Logger(plain)(Succeeded("fetch", 2, 1.5))
    assert capsys.readouterr().out == "event=tarry.succeeded call=fetch attempts=2 elapsed=1.5\n"


def test_the_standard_library_takes_the_facts_as_attributes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    over_logging = structlog.wrap_logger(
        logging.getLogger("over"),
        processors=[structlog.stdlib.render_to_log_kwargs],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    Logger(over_logging)(Retrying("fetch", 1, 2.0, tarry.Failure(), OSError("no")))
    [record] = caplog.records
    assert record.getMessage() == "tarry.retrying"
    assert vars(record)["call"] == "fetch"


def test_what_to_tell_of_errors_is_checked() -> None:
    wrong: Any = "everything"
    with pytest.raises(tarry.PolicyError):
        Logger(errors=wrong)

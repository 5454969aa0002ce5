import logging
from collections.abc import Callable
from typing import Any

import pytest

import tarry
from tarry.observe import Retrying, Succeeded, listen
from tarry.observe.log import Logger


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_a_story_in_the_log(caplog: pytest.LogCaptureFixture, story: Callable[[], None]) -> None:
    caplog.set_level(logging.DEBUG, "tarry")
    listen(Logger())
    story()
    spent = "all attempts are used up"
    assert lines(caplog) == [
        ("DEBUG", "fetch: attempt 1 took 0.5 s: ConnectionError: reset"),
        ("WARNING", "fetch: attempt 1: ConnectionError: reset; trying again in 2 s"),
        ("DEBUG", "fetch: attempt 2 took 0.5 s: TimeoutError: slow"),
        ("WARNING", "fetch: attempt 2: TimeoutError: slow; trying again in 2 s"),
        ("DEBUG", "fetch: attempt 3 took 0.5 s: success"),
        ("INFO", "fetch: succeeded after 3 attempts in 5.5 s"),
        ("DEBUG", "charge: attempt 1 took 0.5 s: ConnectionError: refused 7"),
        ("WARNING", "charge: attempt 1: ConnectionError: refused 7; trying again in 2 s"),
        ("WARNING", "breaker bank: closed -> open"),
        ("DEBUG", "charge: attempt 2 took 0.5 s: ConnectionError: refused 7"),
        ("ERROR", f"charge: gave up after 2 attempts in 3 s: {spent} (ConnectionError: refused 7)"),
    ]
    assert {record.name for record in caplog.records} == {"tarry"}
    assert "hunter2" not in "".join(str(record.__dict__) for record in caplog.records)


def test_a_record_carries_the_facts(caplog: pytest.LogCaptureFixture) -> None:
    Logger()(Retrying("fetch", 2, 0.25, tarry.Failure(), OSError("no")))
    [record] = caplog.records
    facts = {key: fact for key, fact in vars(record).items() if key.startswith("tarry_")}
    assert facts == {
        "tarry_event": "retrying",
        "tarry_call": "fetch",
        "tarry_attempt": 2,
        "tarry_delay": 0.25,
        "tarry_outcome": "transient",
        "tarry_error": "OSError",
        "tarry_error_message": "no",
    }


def test_the_text_is_put_together_only_when_it_is_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Logger()(Retrying("fetch", 2, 0.25, tarry.Failure(), OSError("no")))
    [record] = caplog.records
    assert record.msg == "%s: attempt %d: %s; trying again in %.3g s"
    assert record.args == ("fetch", 2, "OSError: no", 0.25)


def test_what_nobody_would_write_is_not_even_looked_at() -> None:
    class Unspeakable(Exception):  # noqa: N818  a name like any other
        def __str__(self) -> str:
            raise AssertionError

    quiet = logging.getLogger("tests.quiet")
    quiet.setLevel(logging.ERROR)
    Logger(quiet)(Retrying("fetch", 1, 0.1, tarry.Failure(), Unspeakable()))


def test_messages_of_exceptions_can_be_left_out(
    caplog: pytest.LogCaptureFixture, story: Callable[[], None]
) -> None:
    caplog.set_level(logging.DEBUG, "tarry")
    listen(Logger(errors="type"))
    story()
    assert ("WARNING", "fetch: attempt 1: ConnectionError; trying again in 2 s") in lines(caplog)
    told = "".join(str(record.__dict__) for record in caplog.records)
    assert "reset" not in told
    assert "refused" not in told


def test_a_call_without_an_error_gives_up_with_the_reason_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    poll = tarry.retry(
        tarry.Policy(attempts=1), until=bool, name="poll", hooks=Logger("elsewhere")
    )(lambda: False)
    with pytest.raises(tarry.GaveUp):
        poll()
    [record] = caplog.records
    assert record.name == "elsewhere"
    text = record.getMessage()
    assert text.startswith("poll: gave up after 1 attempt in ")
    assert text.endswith(" s: all attempts are used up")


def test_a_logger_of_your_own(caplog: pytest.LogCaptureFixture) -> None:
    own = logging.getLogger("mine.retries")
    Logger(own)(Succeeded("fetch", 2, 1.0))
    assert lines(caplog) == [], "info is below the root logger's level"
    own.setLevel(logging.INFO)
    Logger(own)(Succeeded("fetch", 2, 1.0))
    assert lines(caplog) == [("INFO", "fetch: succeeded after 2 attempts in 1 s")]


def test_what_to_tell_of_errors_is_checked() -> None:
    wrong: Any = "everything"
    with pytest.raises(tarry.PolicyError):
        Logger(errors=wrong)

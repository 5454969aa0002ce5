import subprocess
import sys

import pytest

import tarry
from tarry.call.world import world
from tarry.observe import Event, listen
from tarry.observe.stream import stream
from tarry.testing import PushedClock, Script
from tarry.testing.plugin import UseDraws

pytest_plugins = "pytester"

DAY_LONG = """
    import asyncio, time
    import pytest, tarry, trio

    ONCE_AN_HOUR = tarry.Policy(
        backoff=tarry.Fixed(3600), jitter=tarry.NoJitter(), attempts=25, within=None
    )
    tries = []

    def fail():
        tries.append(1)
        raise ConnectionError

    async def afail():
        fail()

    @pytest.fixture(autouse=True)
    def _quick():
        tries.clear()
        began = time.perf_counter()
        yield
        assert time.perf_counter() - began < 60, "a day, in no time"
        assert len(tries) == 25

    def test_plain(CLOCK):
        with pytest.raises(ConnectionError):
            tarry.retry(ONCE_AN_HOUR, on=ConnectionError)(fail)()

    def test_asyncio(CLOCK):
        with pytest.raises(ConnectionError):
            asyncio.run(tarry.retry(ONCE_AN_HOUR, on=ConnectionError)(afail)())

    def test_trio(CLOCK):
        with pytest.raises(ConnectionError):
            trio.run(tarry.retry(ONCE_AN_HOUR, on=ConnectionError)(afail))

    def test_block(CLOCK):
        with pytest.raises(ConnectionError):
            for attempt in tarry.attempts(ONCE_AN_HOUR, on=ConnectionError):
                with attempt:
                    fail()
"""


def test_the_clock_takes_the_waiting_out(tarry_clock: PushedClock) -> None:
    assert (tarry_clock.now, world.clock()) == (0.0, 0.0)
    world.sleep(60)
    assert tarry_clock.slept == [60]


def test_draws_follow_a_script(tarry_draws: UseDraws) -> None:
    script = tarry_draws([0.5, 0.25])
    assert world.draw() == 0.5
    assert isinstance(script, Script)
    assert script.left == (0.25,)


def test_draws_follow_a_seed_and_the_last_word_counts(tarry_draws: UseDraws) -> None:
    tarry_draws([0.5])
    tarry_draws(seed=7)
    drawn = world.draw()
    tarry_draws(seed=7)
    assert world.draw() == drawn


def test_draws_want_a_script_or_a_seed(tarry_draws: UseDraws) -> None:
    with pytest.raises(tarry.TarryError, match="one of the two"):
        tarry_draws()
    with pytest.raises(tarry.TarryError, match="one of the two"):
        tarry_draws([0.5], seed=7)


def test_events_are_collected(tarry_events: list[Event]) -> None:
    assert tarry_events == []
    tarry.retry(on=OSError, name="call")(lambda: None)()
    assert [event.name for event in tarry_events] == ["call", "call"]


def test_a_day_long_schedule_takes_milliseconds(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(DAY_LONG.replace("CLOCK", "tarry_clock"))
    pytester.runpytest_inprocess().assert_outcomes(passed=4)


def test_a_setting_lets_no_test_sleep(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(DAY_LONG.replace("CLOCK", ""))
    pytester.makeini("[pytest]\ntarry_no_sleep = true\n")
    pytester.runpytest_inprocess().assert_outcomes(passed=4)


def test_the_clock_of_the_setting_is_the_one_a_test_asks_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import tarry

        def test_it(tarry_clock):
            policy = tarry.Policy(backoff=tarry.Fixed(5), jitter=tarry.NoJitter())
            policy.call(lambda: tarry_clock.now, until=bool)
            assert tarry_clock.slept == [5.0]
    """)
    pytester.makeini("[pytest]\ntarry_no_sleep = true\n")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_a_module_may_have_the_real_clock_back(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import time

        import pytest
        from tarry.call.world import world

        @pytest.fixture
        def tarry_clock():
            return None

        def test_it():
            assert world.sleep is time.sleep
    """)
    pytester.makeini("[pytest]\ntarry_no_sleep = true\n")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_without_the_setting_time_is_real(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import time
        from tarry.call.world import world

        def test_it():
            assert world.sleep is time.sleep
    """)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_every_test_starts_as_the_one_before_it_did(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import unittest

        import pytest
        import tarry
        from tarry.call.world import world
        from tarry.observe import listen
        from tarry.observe.stream import stream

        chance, everywhere = world.draw, print

        @pytest.fixture(scope="module", autouse=True)
        def _listens_to_all_tests():
            stop = listen(everywhere)
            yield
            assert stream.listeners == (everywhere,)
            stop()

        def untouched():
            return (
                stream.listeners == (everywhere,)
                and not tarry.disabled.everywhere
                and world.draw is chance
            )

        def test_one_makes_a_mess(tarry_draws, tarry_events):
            listen(repr)
            tarry_draws(seed=1)
            tarry_draws([0.5])
            tarry.disabled.everywhere = True
            raise LookupError

        def test_another_does_not_see_it():
            assert untouched()

        class Unit(unittest.TestCase):
            def test_a_makes_a_mess(self):
                tarry.disabled.everywhere = True

            def test_b_does_not_see_it(self):
                assert untouched()
    """)
    result = pytester.runpytest_inprocess("-p", "no:randomly")
    result.assert_outcomes(passed=3, failed=1)
    assert stream.listeners == ()


def test_the_fixtures_are_listed_with_what_they_do(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest_inprocess("--fixtures").stdout.str()
    for line in ("tarry_clock -- ", "tarry_draws -- ", "tarry_events -- ", "A clock that you push"):
        assert line in shown
    assert "tarry_no_sleep" in pytester.runpytest_inprocess("--help").stdout.str()


def test_an_installed_tarry_brings_the_plugin_along(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(tarry_clock, tarry_draws, tarry_events): pass")
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


def test_the_plugin_costs_next_to_nothing_to_load() -> None:
    script = (
        "import sys, pytest; before = set(sys.modules); import tarry.testing.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    foreign = {name for name in run.stdout.split() if name.partition(".")[0] != "tarry"}
    assert not foreign & {"asyncio", "anyio", "trio", "ssl", "socket", "logging", "json"}
    assert len(foreign) < 10, foreign


def test_a_listener_left_behind_does_not_outlive_its_test() -> None:
    listen(print)
    assert stream.listeners == (print,)


test_nor_does_it_in_the_one_after = test_a_listener_left_behind_does_not_outlive_its_test

"""The server at work, with arrivals and services that are written down instead of drawn."""

import math
from collections.abc import Iterator

import pytest

from tarry.core.backoff import Fixed
from tarry.core.jitter import NoJitter
from tarry.core.policy import Policy
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant
from tarry.sim.server import event_loop
from tarry.sim.server.event_loop import RunningServer, ServerSettings
from tarry.sim.server.layers import Layer

ONE_WORKER = ServerSettings(
    rate=1.0,
    workers=1,
    service_time=1.0,
    timeout=math.inf,
    room=math.inf,
    discipline="fifo",
    cancels=False,
    error_rate=0.0,
)


def policy(attempts: int = 1, wait: float = 1.0) -> Policy:
    return Policy(backoff=Fixed(wait), jitter=NoJitter(), attempts=attempts, within=None)


class Script:
    """Makes servers whose requests arrive when the test says, and take as long as it says."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def __call__(
        self,
        arrivals: list[float],
        works: list[float],
        *,
        attempts: int = 1,
        wait: float = 1.0,
        layers: int = 1,
        **changes: object,
    ) -> RunningServer:
        self._patch.setattr(event_loop, "_arrivals", lambda *_: _then([*arrivals, math.inf]))
        self._patch.setattr(event_loop, "_service_times", lambda *_: _then(works))
        tried = policy(attempts, wait)
        contestant, chance = Contestant("", tried), Chance(1)
        chain = [Layer(contestant, tried, chance, place, retries=True) for place in range(layers)]
        return RunningServer(ONE_WORKER.replace(**changes), chain, chance)


def _then(values: list[float]) -> Iterator[float]:
    yield from values


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    return Script(monkeypatch)


def ends(server: RunningServer) -> list[tuple[int, float, int, bool]]:
    """Of each request that is over: its number, when, after how many tries, whether answered."""
    return [
        (number, round(end, 9), tries, bool(good))
        for number, end, tries, good in zip(
            server.over, server.ended, server.tries, server.succeeded, strict=True
        )
    ]


def test_one_after_the_other_is_served(script: Script) -> None:
    server = script([1.0, 1.5, 9.0], [2.0, 3.0, 1.0])
    server.advance(20.0)
    assert ends(server) == [(0, 3.0, 1, True), (1, 6.0, 1, True), (2, 10.0, 1, True)]
    assert (server.busy, server.wasted, server.events) == (6.0, 0.0, 6)
    assert (server.sent, server.answered, list(server.began)) == (3, 3, [1.0, 1.5, 9.0])


def test_nothing_happens_that_comes_later(script: Script) -> None:
    server = script([1.0, 1.5], [2.0, 3.0])
    server.advance(3.0)
    assert (ends(server), len(server.line)) == ([], 1)
    server.advance(3.1)
    assert (ends(server), len(server.line)) == ([(0, 3.0, 1, True)], 0)


def test_two_workers_serve_side_by_side(script: Script) -> None:
    server = script([1.0, 1.5, 1.6], [4.0, 1.0, 1.0], workers=2)
    server.advance(20.0)
    assert ends(server) == [(1, 2.5, 1, True), (2, 3.5, 1, True), (0, 5.0, 1, True)]


def test_last_in_is_first_out_if_so_wanted(script: Script) -> None:
    server = script([1.0, 1.5, 1.6], [2.0, 1.0, 1.0], discipline="lifo")
    server.advance(20.0)
    assert [number for number, *_ in ends(server)] == [0, 2, 1]


def test_who_finds_no_room_is_refused_and_comes_again(script: Script) -> None:
    server = script([1.0, 1.5, 1.6], [2.0, 1.0, 1.0], room=1, attempts=2, wait=3.0)
    server.advance(20.0)
    assert ends(server) == [(0, 3.0, 1, True), (1, 4.0, 1, True), (2, 5.6, 2, True)]


def test_in_an_outage_all_new_attempts_are_refused_but_old_ones_are_served(script: Script) -> None:
    server = script([1.0, 2.0], [5.0], attempts=3)
    server.advance(1.5)
    server.refusing = True
    server.advance(20.0)
    assert ends(server) == [(1, 4.0, 3, False), (0, 6.0, 1, True)]


def test_a_client_that_timed_out_comes_again_and_the_old_work_is_wasted(script: Script) -> None:
    server = script([1.0], [5.0, 1.0, 1.0], timeout=2.0, attempts=3, wait=1.5)
    server.advance(20.0)
    # Tried at 1, 4.5 and 8; the first is worked at until 6, the second until 7, both for nobody.
    assert ends(server) == [(0, 9.0, 3, True)]
    assert (server.busy, server.wasted) == (7.0, 6.0)
    assert server.events == 1 + 3 + 2 + 2  # arrivals, services, timeouts, retries


def test_an_answer_to_an_earlier_attempt_is_not_taken_for_a_later_one(script: Script) -> None:
    server = script([1.0], [3.0, 4.0, 1.0], timeout=2.0, attempts=3, wait=0.5)
    server.advance(30.0)
    # The first is done at 4.0, when the second (of 3.5) is waited for: nobody takes it.
    assert ends(server) == [(0, 8.0, 3, False)]
    assert (server.busy, server.wasted) == (8.0, 8.0)


def test_a_server_that_cancels_lets_go_of_what_nobody_waits_for(script: Script) -> None:
    server = script([1.0, 1.5, 2.0], [9.0, 9.0, 0.5], timeout=2.0, cancels=True)
    server.advance(3.2)
    assert len(server.line) == 1  # at 3.0 the first one went, and the second was taken up
    server.advance(30.0)
    assert ends(server) == [(0, 3.0, 1, False), (1, 3.5, 1, False), (2, 4.0, 1, True)]
    assert (server.busy, server.wasted) == (3.0, 2.5)


def test_a_server_that_cancels_skips_what_is_given_up_in_the_line(script: Script) -> None:
    server = script([1.0, 1.1, 2.4], [1.5, 1.0], timeout=1.6, discipline="lifo", cancels=True)
    server.advance(30.0)
    assert ends(server) == [(0, 2.5, 1, True), (1, 2.7, 1, False), (2, 3.5, 1, True)]
    assert (server.busy, server.wasted, len(server.line)) == (2.5, 0.0, 0)


def test_what_is_dropped_from_the_line_fails_at_once(script: Script) -> None:
    server = script([1.0, 1.5, 2.5], [1.9, 2.0, 1.0], timeout=2.0, discipline="feasible")
    server.advance(30.0)
    assert ends(server) == [(0, 2.9, 1, True), (1, 2.9, 1, False), (2, 3.9, 1, True)]
    assert server.wasted == 0


def test_what_is_past_its_deadline_is_dropped_without_a_word(script: Script) -> None:
    server = script([1.0, 1.5, 3.9], [3.0, 9.0, 1.0], timeout=2.0, discipline="deadline")
    server.advance(30.0)
    assert [(number, good) for number, _, _, good in ends(server)] == [
        (0, False),
        (1, False),
        (2, True),
    ]
    assert server.wasted == 3.0  # the first; the second was never begun


def test_a_line_that_stands_sheds_what_waited(script: Script) -> None:
    server = script([1.0, 1.01, 1.02, 1.03], [0.05, 0.06, 0.1, 0.1], discipline="codel")
    server.advance(30.0)
    # At 1.05 the line has stood for 40 ms; at 1.11 for 100 ms and a bit, and sheds both.
    assert [(number, good) for number, _, _, good in ends(server)] == [
        (0, True),
        (1, True),
        (2, False),
        (3, False),
    ]


def test_a_slowdown_stretches_what_is_left_of_the_work_begun(script: Script) -> None:
    server = script([1.0, 2.0], [2.0, 1.0])
    server.advance(2.0)
    server.work_at(0.1, 2.0)  # half of the first is done; the rest takes ten seconds
    server.advance(12.5)
    assert ends(server) == [(0, 12.0, 1, True)]
    server.work_at(1.0, 13.0)  # a tenth of the second is done
    server.advance(30.0)
    assert ends(server)[1] == (1, 13.9, 1, True)


def test_answers_may_be_errors(script: Script) -> None:
    server = script([1.0], [1.0, 1.0, 1.0], error_rate=1.0, attempts=3)
    server.advance(30.0)
    assert ends(server) == [(0, 6.0, 3, False)]
    assert (server.answered, server.busy, server.wasted) == (0, 3.0, 0.0)


def test_hops_multiply(script: Script) -> None:
    server = script([1.0, 2.0], [], attempts=3, layers=3)
    server.refusing = True
    server.advance(100.0)
    assert [(tries, good) for _, _, tries, good in ends(server)] == [(27, False), (27, False)]
    assert server.sent == 54


def test_a_success_is_one_for_every_hop(script: Script) -> None:
    server = script([1.0], [1.0], attempts=3, layers=3)
    server.refusing = True
    server.advance(2.5)  # two attempts, at 1 and 2
    server.refusing = False
    server.advance(100.0)
    assert ends(server) == [(0, 4.0, 3, True)]

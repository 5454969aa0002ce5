"""A failing history becomes small, and still fails."""

from tests.simulation.generate import generate
from tests.simulation.shrink import Shrinker
from tests.simulation.steps import AnyStep, Conditions, History, Kill, Send, StartWorker

STEPS: tuple[AnyStep, ...] = tuple(
    Kill(at=number, worker=number) if number % 4 == 1 else StartWorker(at=number)
    for number in range(20)
)


def test_only_what_is_needed_is_left() -> None:
    def fails(history: History) -> bool:
        killed = {step.worker for step in history.steps if isinstance(step, Kill)}
        return {5, 13} <= killed

    shrunk = Shrinker(fails).shrink(History(Conditions(seed=1), STEPS))
    assert shrunk.steps == (Kill(at=5, worker=5), Kill(at=13, worker=13))


def test_messages_and_conditions_become_fewer() -> None:
    def fails(history: History) -> bool:
        return sum(step.count for step in history.steps if isinstance(step, Send)) >= 3

    steps = (Send(at=1, application=0, message=0, count=12),)
    strange = Conditions(seed=1, lag=0.1, any_order=True, workers=3)
    shrunk = Shrinker(fails).shrink(History(strange, steps))
    assert shrunk == History(Conditions(seed=1), (Send(at=1, application=0, message=0, count=3),))


def test_another_seed_may_fail_instead() -> None:
    def fails(history: History) -> bool:
        return bool(history.steps) and (len(history.steps) == 20 or history.conditions.seed > 1)

    shrunk = Shrinker(fails).shrink(History(Conditions(seed=1), STEPS))
    assert len(shrunk.steps) == 1
    assert shrunk.conditions.seed > 1


def test_it_gives_up_after_so_many_runs() -> None:
    runs: list[History] = []

    def fails(history: History) -> bool:
        runs.append(history)
        return False

    history = generate(1)
    assert Shrinker(fails, runs=10).shrink(history) == history
    assert len(runs) == 10

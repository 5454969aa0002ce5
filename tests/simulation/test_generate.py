"""Seeds give histories: always the same ones, of all kinds, and never long."""

from tests.simulation import steps
from tests.simulation.generate import Frame, generate

MANY = [generate(seed) for seed in range(600)]


def test_a_seed_gives_the_same_history_twice() -> None:
    assert [generate(seed) for seed in range(600)] == MANY


def test_steps_come_in_the_order_of_time_and_end_with_the_history() -> None:
    for history in MANY:
        times = [step.at for step in history.steps]
        assert times == sorted(times)
        assert times[-1] <= history.conditions.length


def test_every_kind_of_step_occurs() -> None:
    kinds = {type(step) for history in MANY for step in history.steps}
    assert kinds == set(steps.AnyStep.__args__)


def test_histories_are_small() -> None:
    for history in MANY:
        sent = sum(step.count for step in history.steps if isinstance(step, steps.Send))
        assert 1 <= sent <= 160
        assert history.conditions.length <= 60


def test_who_runs_them_may_fix_workers_and_length() -> None:
    history = generate(1, Frame(workers=4, minutes=2.0))
    assert history.conditions.workers == 4
    assert history.conditions.length == 120

import json
from pathlib import Path

import pytest
from click.exceptions import Exit

from tarry.cli.input.policy_file import BadFile
from tarry.cli.storm.simulation import StormOptions, run_simulation
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant, Run
from tarry.sim.timeline import Timeline

CROWD = "model = 'timeline'\nclients = 3\nretries = 1\n[policies.a]\n[policies.b]\nattempts = 2\n"


@pytest.fixture
def asked(tmp_path: Path) -> StormOptions:
    path = tmp_path / "crowd.toml"
    path.write_text(CROWD)
    return StormOptions(str(path), (), 1, 3, False, None, None, "tarry storm run crowd.toml")  # noqa: FBT003  as typed


def interrupt_after(simulations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C when so many simulations are done."""
    left = [None] * simulations
    simulate = Timeline.simulate

    def some(self: Timeline, contestant: Contestant, chance: Chance) -> Run:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return simulate(self, contestant, chance)

    monkeypatch.setattr(Timeline, "simulate", some)


def test_people_get_a_table(asked: StormOptions, capsys: pytest.CaptureFixture[str]) -> None:
    run_simulation(asked)
    told = capsys.readouterr()
    assert "┃ Metric " in told.out
    assert "│ peak (arrivals per 0.1 s) " in told.out
    assert "3 runs, seed 1." in told.out
    assert told.err == ""


def test_programs_get_json_and_nothing_else(
    asked: StormOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    run_simulation(asked._replace(as_json=True))
    told = capsys.readouterr()
    assert [result["policy"] for result in json.loads(told.out)["results"]] == ["a", "b"]
    assert told.err == ""


def test_the_same_seed_gives_the_same_bytes(
    asked: StormOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for seed in (1, 1, 2):
        run_simulation(asked._replace(as_json=True, seed=seed))
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] != told[2]


def test_pictures_are_written_beside_what_is_printed(
    asked: StormOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, plot = tmp_path / "out.html", tmp_path / "out.svg"
    run_simulation(asked._replace(report=report, plot=plot, as_json=True))
    json.loads(capsys.readouterr().out)
    assert asked.command in report.read_text(encoding="utf-8")
    assert plot.stat().st_size > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"scenario": "none.toml"},
        {"policies": ("nobody",)},
        {"report": Path("a.pdf")},
        {"plot": Path("a.gif")},
    ],
    ids=str,
)
def test_whatever_is_wrong_is_found_before_the_work(
    asked: StormOptions, wrong: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(0, monkeypatch)
    with pytest.raises(BadFile):
        run_simulation(StormOptions(**{**asked._asdict(), **wrong}))


def test_ctrl_c_prints_what_there_is_so_far(
    asked: StormOptions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_after(5, monkeypatch)
    with pytest.raises(Exit) as ended:
        run_simulation(asked)
    assert ended.value.exit_code == 130
    told = capsys.readouterr()
    assert "2 of 3 runs, seed 1." in told.out
    assert told.err == "Interrupted after 2 of 3 runs.\n"


def test_ctrl_c_before_the_first_run_has_nothing_to_print(
    asked: StormOptions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_after(1, monkeypatch)
    with pytest.raises(Exit) as ended:
        run_simulation(asked._replace(as_json=True))
    assert ended.value.exit_code == 130
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "Interrupted before the first run was done: there is nothing to show.\n"

"""What a lane is told goes to the file that knows what to do."""

import pytest

from tarry.service.dispatch.lane import answers, phases, sending
from tarry.service.dispatch.lane.driver import LaneDriver

CALLS = [
    (sending, "pump", "pump", (), {"turn": True}),
    (answers, "take_answer", "answered", ("pending", "answer"), {}),
    (phases, "tick", "tick", (1.0,), {}),
    (phases, "shared", "shared", (1.0,), {}),
    (phases, "origin_turned", "origin_turned", ("phase", 1.0), {}),
    (phases, "alone", "alone", (1.0, 40.0, None), {}),
    (phases, "released", "released", (1.0,), {}),
]


@pytest.mark.parametrize(("module", "function", "verb", "args", "named"), CALLS)
def test_each_verb_reaches_its_function_with_the_lane(  # noqa: PLR0913, PLR0917  parameters
    module: object,
    function: str,
    verb: str,
    args: tuple[object, ...],
    named: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[tuple[tuple[object, ...], dict[str, object]]] = []

    def note(*given: object, **by_name: object) -> bool:
        called.append((given, by_name))
        return True

    monkeypatch.setattr(module, function, note)
    getattr(LaneDriver(), verb)("lane", *args, **named)
    assert called == [(("lane", *args), named)]

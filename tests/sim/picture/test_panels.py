import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from tarry.sim.picture.canvas import Picture, Sheet, rendered
from tarry.sim.picture.panels import POINTS, Frame, Lines, Trace, cut, each, height, together
from tarry.sim.run import Curve

FRAME = Frame(0.0, 10.0)


def curve(*values: float, label: str = "attempts", unit: str = "per second") -> Curve:
    return Curve(label, unit, np.linspace(0, 10, len(values)), np.array(values, dtype=float))


def trace(number: int, *values: float, **others: Curve) -> Trace:
    return Trace(f"policy {number}", number, {"load": curve(*values), **others})


def drawn(*traces: Trace, lines: Lines | None = None, frame: Frame = FRAME) -> Figure:
    figure = Figure(figsize=(9, height(len(traces))))
    sheet = Sheet(figure, 0.0, height(len(traces)))
    each(traces, lines or Lines("load", peak="load"), frame, sheet)
    figure.draw_without_rendering()
    return figure


def labels(figure: Figure) -> tuple[str, ...]:
    """What stands under all panels and beside them."""
    return tuple(text.get_text() for text in figure.texts)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_all_panels_have_the_same_axes() -> None:
    figure = drawn(trace(0, 1, 5), trace(1, 2, 20))
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in figure.axes}) == 1
    assert figure.axes[0].get_ylim()[1] > 20
    assert labels(figure) == ("Time (seconds)", "Attempts, per second")


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 11])
def test_every_policy_has_its_panel_and_every_column_its_times(count: int) -> None:
    figure = drawn(*(trace(number, 1, 2) for number in range(count)))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == [f"policy {n}" for n in range(count)]
    lowest = {axes.get_position().x0: axes for axes in shown}
    for axes in lowest.values():
        assert axes.get_xticklabels()[0].get_visible()
        assert axes.xaxis.get_tick_params()["labelbottom"]


def test_a_long_label_is_wrapped_beside_a_single_panel() -> None:
    long = Curve("attempts that wait for a worker", "1/s", np.arange(5.0), np.arange(5.0))
    figure = drawn(Trace("one", 0, {"load": long}))
    assert labels(figure)[1] == "Attempts that wait for a\nworker, per second"
    panel = figure.axes[0].get_tightbbox()
    assert panel is not None
    assert figure.texts[1].get_window_extent().x1 < panel.x0


@pytest.mark.parametrize("count", [1, 3, 8])
def test_no_words_lie_over_each_other(count: int) -> None:
    names = (f"a policy with a long name, number {n}, that goes on and on" for n in range(count))
    traces = [
        Trace(name, n, {"load": curve(0, 12_345.0), "capacity": curve(200, 200)})
        for n, name in enumerate(names)
    ]
    figures: list[Figure] = []

    def draw(sheet: Sheet) -> None:
        each(traces, Lines("load", against="capacity", peak="load"), FRAME, sheet)
        figures.append(sheet.figure)

    rendered([Picture("Panels", "", height(count), draw)], "png")
    assert len(figures[0].axes) == count
    for axes in figures[0].axes:
        # matplotlib has no public way to the three titles of a panel.
        left, right = (getattr(axes, f"_{side}_title") for side in ("left", "right"))
        assert left.get_window_extent().x1 < right.get_window_extent().x0


def test_very_different_peaks_get_a_log_scale_and_it_is_said() -> None:
    figure = drawn(trace(0, 0, 10_000, 0), trace(1, 3, 3, 3))
    assert figure.axes[0].get_yscale() == "log"
    assert labels(figure)[1] == "Attempts, per second (log scale)"
    assert drawn(trace(0, 100), trace(1, 3)).axes[0].get_yscale() == "linear"
    beside = Lines("load", beside="offered")
    many = curve(5_000, 6_000, label="offered")
    assert drawn(trace(0, 50, 60, offered=many), lines=beside).axes[0].get_yscale() == "log"


def test_a_panel_tells_its_peak_from_second_0_on() -> None:
    down = Curve("attempts", "per second", np.array([-5.0, 0.0, 5.0]), np.array([900.0, 7.0, 3.0]))
    figure = drawn(Trace("one", 0, {"load": down}), frame=Frame(-10.0, 10.0))
    assert figure.axes[0].get_title(loc="right") == "peak 7 per second"


def test_the_peak_of_another_line_says_which() -> None:
    lines = Lines("load", beside="offered", peak="offered")
    offered = curve(50, 60, label="attempts at the server", unit="1/s")
    figure = drawn(trace(0, 1, 2, offered=offered), trace(1, 1, 2), lines=lines)
    told = [axes.get_title(loc="right") for axes in figure.axes]
    assert told == ["offered: peak 60 per second", ""]
    assert figure.axes[0].get_ylim()[1] > 60
    assert labels(figure)[1] == "Per second"


def test_among_many_panels_there_is_no_room_for_the_peak_of_another_line() -> None:
    traces = [trace(n, 1, 2, offered=curve(50, 60)) for n in range(11)]
    told = drawn(*traces, lines=Lines("load", beside="offered", peak="offered"))
    assert {axes.get_title(loc="right") for axes in told.axes} == {""}
    told = drawn(*traces, lines=Lines("load", peak="load"))
    assert told.axes[0].get_title(loc="right") == "peak 2 per second"


def test_the_legend_explains_each_kind_of_line_and_the_shade() -> None:
    frame = Frame(-5.0, 10.0, shades=((-5.0, 0.0),), shaded="endpoint down")
    lines = Lines("load", beside="pace", against="capacity")
    one = trace(0, 1, 2, pace=curve(3, label="pace"), capacity=curve(4, label="capacity"))
    told = legend(drawn(one, lines=lines, frame=frame))
    assert told == ["Attempts", "Pace", "Capacity", "Endpoint down"]
    assert not drawn(trace(0, 1, 2)).legends


@pytest.mark.parametrize("values", [(), (0.0, 0.0), (np.nan, np.nan), (np.inf,)])
def test_nothing_can_be_drawn_too(values: tuple[float, ...]) -> None:
    figure = drawn(trace(0, *values))
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words == ([] if values == (0.0, 0.0) else ["nothing to show"])
    assert figure.axes[0].get_ylim() == (0.0, 1.0)


def test_a_policy_without_the_curve_has_an_empty_panel() -> None:
    figure = drawn(Trace("none", 0, {}), trace(1, 1, 2))
    assert [len(axes.texts) for axes in figure.axes] == [1, 0]


def test_all_lines_in_one_panel_have_their_names_beside_it() -> None:
    figure = Figure(figsize=(9, 4))
    limit = curve(0, 9, label="the limit")
    together([trace(0, 0, 5), trace(1, 0, 8)], "load", limit, FRAME, Sheet(figure, 0.0, 4.0))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    told = axes.get_legend()
    assert told is not None
    assert [text.get_text() for text in told.get_texts()] == ["The limit", "policy 0", "policy 1"]
    assert told.get_window_extent().x0 > axes.get_window_extent().x1
    assert axes.get_ylabel() == "Attempts, per second"


def test_no_line_at_all_in_one_panel_says_so() -> None:
    figure = Figure(figsize=(9, 4))
    together([Trace("none", 0, {})], "load", None, FRAME, Sheet(figure, 0.0, 4.0))
    assert [text.get_text() for text in figure.axes[0].texts] == ["nothing to show"]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.integers(POINTS + 1, POINTS * 20))
def test_a_long_curve_is_drawn_with_few_points_but_all_its_height(
    spikes: list[float], size: int
) -> None:
    values = np.ones(size)
    values[np.linspace(0, size - 1, len(spikes)).astype(int)] = spikes
    seconds = np.linspace(0, 10, size)
    some, heights = cut(Curve("", "", seconds, values), FRAME)
    assert len(some) <= POINTS + 1
    assert (heights.min(), heights.max()) == (values.min(), values.max())
    assert (some[0], some[-1]) == (seconds[0], seconds[-1])
    assert np.all(np.diff(some) > 0)


def test_only_what_is_in_the_frame_is_drawn_and_one_point_to_reach_its_edge() -> None:
    seconds, values = cut(curve(*range(11)), Frame(2.0, 4.0))
    assert list(seconds) == [2, 3, 4, 5]
    assert list(values) == [2, 3, 4, 5]
    assert list(cut(curve(*range(11)), Frame(8.0, 20.0))[0]) == [8, 9, 10]
    assert not len(cut(curve(*range(11)), Frame(11.0, 20.0))[0])

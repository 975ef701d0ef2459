"""Pictures show the numbers of their results, on the axes they are given, and leave nothing behind."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from made import RESULT, make_provenance, make_result
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.plotting import canvas, plot_result
from mmdbounds.results import Bound
from mmdbounds.results.curve import SweepPoint, SweepResult
from mmdbounds.results.intervals import ConfidenceInterval, CountedBounds
from mmdbounds.results.testing import CountTest, RobustTestResult

EPSILONS = (0.0, 0.1, 0.2)


def make_sweep(**changes: Any) -> SweepResult:
    """Three shares; at the last one the lower side has no proof."""
    points = [
        SweepPoint(
            epsilon=share,
            n_moved=round(100 * share),
            lower=0.5 - share,
            upper=0.5 + share,
            lower_certified=None if share == 0.2 else 0.5 - 1.5 * share,
            upper_certified=0.5 + 1.5 * share,
            pvalue=0.01 + share,
            null_quantile=None if share == 0.0 else 0.05,
        )
        for share in EPSILONS
    ]
    made: dict[str, Any] = {
        "points": points,
        "observed": 0.5,
        "level": 0.05,
        "breakdown_n_moved": 12,
        "holds_n_moved": 11,
        "is_confirmed": True,
        "is_tight": True,
        "is_valid": False,
        "breakdown_of_value": None,
        "most_moved": 20,
        "n_permutations": 199,
        "n_samples_X": 88,
        "n_samples_Y": 200,
        "name_x": "MI",
        "name_y": "healthy",
        "provenance": make_provenance(),
    }
    return SweepResult(**{**made, **changes})


def make_test(**changes: Any) -> RobustTestResult:
    count = CountTest(n_moved=3, n_moved_of_x=0, lower=0.21, certified=0.20006, pvalue=0.01, attained=0.01)
    made: dict[str, Any] = {
        "statistic": 0.20006,
        "pvalue": 0.01,
        "is_valid": True,
        "is_tight": True,
        "n_moved": 3,
        "null": np.linspace(-0.1, 0.1, 99),
        "null_quantile": 0.09,
        "observed": 0.3,
        "pvalue_as_filed": 0.02,
        "counts": [count],
        "n_admissible": 1,
        "n_permutations": 99,
        "exactly": True,
        "epsilon": 0.1,
        "share_of_y": 0.1,
        "n_samples_X": 27,
        "n_samples_Y": 30,
        "provenance": make_provenance(),
    }
    return RobustTestResult(**{**made, **changes})


def certified(**changes: Any) -> mb.results.BoundsResult:
    lower, upper = RESULT.lower, RESULT.upper
    both = {
        "lower": dataclasses.replace(lower, certified=0.25, effects=[3.0, np.nan, 1.0, *[0.0] * 1231]),
        "upper": dataclasses.replace(upper, certified=upper.value, effects=[-2.0, -4.0, *[-0.5] * 1232]),
    }
    return dataclasses.replace(RESULT, **{**both, **changes})


# Without matplotlib


def test_without_matplotlib_there_is_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for draw in (
        lambda: make_sweep().plot(),
        lambda: mb.plotting.plot_pvalues(make_sweep()),
        lambda: make_test().plot(),
        lambda: mb.plotting.plot_rows(certified()),
    ):
        with pytest.raises(MmdBoundsError, match=r"^figures need matplotlib.* Install mmdbounds\[plot\]\.$"):
            draw()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda: mb.plotting.plot_pvalues(make_test()),
            "^`plot_pvalues` draws results of type SweepResult; got RobustTestResult\\.$",
        ),
        (
            lambda: mb.plotting.plot_null(make_sweep()),
            "type RobustTestResult; got SweepResult",
        ),
        (
            lambda: mb.plotting.plot_rows(make_sweep()),
            "^`plot_rows` draws results of type BoundsResult; got SweepResult",
        ),
        (
            lambda: mb.plotting.plot_rows(make_result(), n_rows=0),
            "`n_rows` must be a whole number from 1; got 0",
        ),
        (lambda: mb.plotting.plot_null(make_test(), bounds=3), "of type BoundsResult; got int"),
        (
            lambda: mb.plotting.plot_rows(certified(lower=RESULT.lower, upper=RESULT.upper)),
            "no single row changes these bounds",
        ),
        (lambda: mb.plotting.plot_coverage(None), "of type Evaluation; got NoneType"),
        (lambda: plot_result(3), "^`plot` draws results of type BoundsResult or ColumnTable or .*; got int"),
    ],
)
def test_what_cannot_be_drawn(draw: Any, message: str):
    with pytest.raises(MmdBoundsError, match=message):
        draw()


@pytest.mark.parametrize("ax", [[1, 2], "ax", np.zeros(2)])
def test_axes_must_be_axes(ax: Any):
    with pytest.raises(DataError, match=r"^`ax` must be one matplotlib Axes; got \w+\. Pass one"):
        mb.plotting.plot_bounds(make_sweep(), ax)


def lightness(colour: str) -> float:
    """CIE L* of a colour, by the definition of sRGB."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * luminance ** (1 / 3) - 16


def test_the_two_sides_differ_in_grey_and_in_more_than_colour():
    assert abs(lightness(canvas.LOWER["color"]) - lightness(canvas.UPPER["color"])) > 20
    for name in ("linestyle", "marker"):
        assert canvas.LOWER[name] != canvas.UPPER[name]


def test_names_from_the_data_are_short_and_no_formulas():
    assert canvas.name_text("cost in $ or $") == r"cost in \$ or \$"
    long = canvas.name_text("a, " * 40)
    assert len(long) <= canvas.LONGEST_NAME
    assert long.endswith("a...")
    assert canvas.name_text("a\nb") == r"'a\nb'"


# With matplotlib


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    yield plt
    plt.close("all")


def lines(ax: Any) -> dict[str, tuple[list[float], list[float]]]:
    """The lines on the axes, by their labels."""
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in ax.lines
        if not line.get_label().startswith("_")
    }


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.full
def test_bounds_against_the_share(pyplot: Any):
    result = make_sweep()
    drawn = lines(ax := result.plot())
    assert drawn["upper bound"] == (list(EPSILONS), [p.upper_certified for p in result.points])
    low = [0.5, result.points[1].lower_certified, result.points[2].lower]
    assert drawn["lower bound"] == (list(EPSILONS), low)
    assert drawn["found by a labelling, not proved"] == ([0.2], [0.3])
    assert drawn["as filed: 0.5"][1] == [0.5, 0.5]
    assert drawn["breakdown: 12 %, 12 rows"][0] == [0.12, 0.12]
    chance = drawn["95 % of what chance alone would give"][1]
    assert math.isnan(chance[0])
    assert chance[1:] == [0.05, 0.05]
    assert ax.get_xlabel() == "share of the true MI rows filed under healthy (epsilon)"
    assert ax.get_ylabel() == "squared MMD of the true groups"
    assert set(legend(ax)) == set(drawn)
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert (corners[:, 1].min(), corners[:, 1].max()) == (pytest.approx(0.3), pytest.approx(0.8))
    ax.figure.canvas.draw()
    assert [tick.get_text() for tick in ax.get_xticklabels()][1:3] == ["0 %", "2.5 %"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("changes", "label", "x"),
    [
        ({"breakdown_n_moved": None}, "no breakdown up to 18.5 %", []),
        ({"breakdown_n_moved": 0}, "breakdown: not significant even as filed", [0.0, 0.0]),
        ({"is_confirmed": False}, "breakdown (among those tested): 12 %, 12 rows", [0.12, 0.12]),
    ],
)
def test_what_is_said_of_the_breakdown(pyplot: Any, changes: dict[str, Any], label: str, x: list[float]):
    result = make_sweep(**changes)
    for draw in (mb.plotting.plot_bounds, mb.plotting.plot_pvalues):
        assert lines(draw(result))[label][0] == x


@pytest.mark.full
def test_pvalues_against_the_share(pyplot: Any):
    ax = mb.plotting.plot_pvalues(make_sweep())
    drawn = lines(ax)
    assert drawn["worst case: the p-value"] == (list(EPSILONS), [0.01, 0.11, 0.21000000000000002])
    assert drawn["found by a labelling, not proved"] == ([0.2], [0.21000000000000002])
    assert drawn["level 5 %"][1] == [0.05, 0.05]
    assert ax.get_yscale() == "log"
    low, high = ax.get_ylim()
    assert low < 0.01
    assert high > 1


@pytest.mark.full
def test_the_null_and_the_statistic(pyplot: Any):
    ax = make_test().plot(bounds=certified())
    drawn = lines(ax)
    assert drawn["worst case: at least 0.2 (p = 0.01)"][0] == [0.20006] * 2
    assert drawn["as filed: 0.3 (p = 0.02 if nothing is misfiled)"][0] == [0.3] * 2
    assert drawn["95 % of what chance alone would give"][0] == [0.09] * 2
    bars = [patch for patch in ax.patches if patch.get_height() != 1]
    assert sum(bar.get_height() for bar in bars) == 99
    assert bars[0].get_x() == pytest.approx(-0.1)
    (span,) = [patch for patch in ax.patches if patch.get_label() == "possible values (proved)"]
    assert (span.get_x(), span.get_width()) == (0.25, pytest.approx(0.39744 - 0.25))
    assert ax.get_xlabel() == "squared MMD (worst case: 3 rows misfiled)"
    assert "chance alone: 99 random labellings" in legend(ax)
    doubtful = lines(make_test(is_valid=False, null_quantile=None).plot())
    assert "worst case: 0.2001 found (p = 0.01, not proved)" in doubtful
    assert "95 % of what chance alone would give" not in doubtful


@pytest.mark.full
def test_one_interval_on_a_line(pyplot: Any):
    ax = certified().plot()
    drawn = lines(ax)
    assert drawn["possible values (proved)"][0] == [0.25, 0.39744]
    assert drawn["as filed"][0] == [0.3837]
    assert drawn["lower value reached"][0] == [0.27602]
    assert "upper value reached" not in drawn
    assert [text.get_text() for text in ax.texts] == ["0.25", "0.3975"]  # rounded outwards
    title = ax.get_title().replace("\n", " ")
    assert (
        title == "Assumed: exactly 20 % of the true MI rows are misfiled, that is exactly 2 of "
        "the 1,234 rows filed under healthy."
    )
    assert "found by labellings, not proved" in lines(RESULT.plot())
    free = Bound(side="lower", value=0.5, rows=[], rows_of_x=[], kind="resized labelling")
    assert "from resized labelling, not bounds" in lines(dataclasses.replace(RESULT, lower=free).plot())
    crossed = dataclasses.replace(RESULT, lower=dataclasses.replace(RESULT.lower, value=0.5))
    assert lines(crossed.plot())["the two bounds cross"][0] == [0.5, 0.39744]


@pytest.mark.full
def test_confidence_on_the_root_scale(pyplot: Any):
    parts = [
        CountedBounds(n_moved=(0, 1), n_moved_of_x=(0, 0), lower=low, upper=high, radius=0.1)
        for low, high in ((0.04, 0.09), (-0.01, 0.16))
    ]
    made: dict[str, Any] = {"n_samples_X": 5, "n_samples_Y": 5, "n_moved_range": (0, 1), "exactly": False}
    result = ConfidenceInterval(
        low=0.0,
        high=0.50001,
        level=0.95,
        label="proved",
        parts=parts,
        epsilon=0.1,
        provenance=make_provenance(),
        **made,
    )
    ax = result.plot()
    assert lines(ax)["95 % confidence, proved"][0] == [0.0, 0.50001]
    assert lines(ax)["due to misfiling alone"][0] == [0.0, 0.4]
    assert [text.get_text() for text in ax.texts] == ["0", "0.5001"]
    assert "root" in ax.get_xlabel()


@pytest.mark.full
def test_rows_in_the_order_of_the_table(pyplot: Any):
    result = certified(ids_of_y=[f"${i}$" for i in range(1234)])
    ax = mb.plotting.plot_rows(result, n_rows=3)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [r"\$0\$", r"\$2\$", r"\$3\$"]
    drawn = lines(ax)
    assert drawn["upper bound falls (row moved)"] == ([-2.0], [0])
    assert drawn["upper bound falls (row not moved)"] == ([-0.5, -0.5], [1, 2])
    assert drawn["lower bound rises (row not moved)"] == ([3.0, 1.0, 0.0], [0, 1, 2])
    assert ax.get_title() == "3 of 1,234 rows filed under healthy"
    assert len(mb.plotting.plot_rows(result).get_yticklabels()) == 20


@pytest.mark.full
def test_coverage_against_width(pyplot: Any):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(15, 2)), rng.normal(1, 1, size=(15, 2))
    found = mb.evaluate(X, Y, 0.2, methods=["s-sd", "sd"], n_trials=4, rng=0, progress=False)
    ax = found.plot()
    points = [(list(c[0].get_xdata()), list(c[0].get_ydata())) for c in ax.containers]
    wanted = [([m.mean_interval_width], [m.false_coverage_rate]) for m in found.methods]
    assert points == wanted
    assert legend(ax) == [f"{m.label}: {m.n_missed} of 4 missed" for m in found.methods]


@pytest.mark.full
def test_axes_in_and_out_and_nothing_left_behind(pyplot: Any):
    import matplotlib as mpl
    from matplotlib.figure import Figure

    before = dict(mpl.rcParams)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(10, 2)), rng.normal(1, 1, size=(12, 2))
    bounds = mb.mmd_bounds(X, Y, 0.2, rng=0)
    draws = [
        make_sweep().plot,
        lambda ax: mb.plotting.plot_pvalues(make_sweep(), ax),
        make_test().plot,
        bounds.plot,
        lambda ax: mb.plotting.plot_rows(bounds, ax),
    ]
    for draw in draws:
        ax = Figure().subplots()
        assert draw(ax) is ax
        assert ax.get_legend() is not None
        assert pyplot.get_fignums() == []
        new = draw(None)
        assert pyplot.get_fignums() == [new.figure.number]  # shown in a notebook, and by plt.show()
        assert pyplot.gca() is not None
        new.figure.canvas.draw()
        pyplot.close(new.figure)
    assert dict(mpl.rcParams) == before


@pytest.mark.full
def test_columns_are_drawn_with_the_surest_on_top(pyplot: Any):
    table = mb.column_table([[1.0, 5], [2, 6], [1, 7]], [[1.0, 1], [2, 2], [2, 3], [1, 1]], 0.3)
    ax = table.plot()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["column 1", "column 0"]
    assert ax.get_ylim() == (1.5, -0.5)
    bars = [line for line in ax.lines if len(line.get_ydata()) == 2 and list(line.get_ydata()) != [0, 1]]
    drawn = {int(line.get_ydata()[0]): tuple(line.get_xdata()) for line in bars}
    want = [(row.standardised_lower, row.standardised_upper) for row in table.rows[::-1]]
    assert [drawn[0], drawn[1]] == want

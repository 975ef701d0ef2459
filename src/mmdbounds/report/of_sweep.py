"""The page of a sweep: a slider over the shares of its curve, and the table that `summary()` prints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmdbounds.report import charts
from mmdbounds.report.contents import Contents, Figure, Moment, Table, share_label
from mmdbounds.report.rows import RowNames, single_rows
from mmdbounds.results import Bound, BoundsResult, SweepPoint, SweepResult
from mmdbounds.words import testing
from mmdbounds.words.bounds import finding
from mmdbounds.words.phrases import assumption, labellings_used, percent, shown

Series = dict[str, Sequence[float | None]]
Ends = Sequence[tuple[float | None, float | None]]

EXACTLY = (
    "The curves and the table assume exactly the stated number of misfiled rows; the answer at the top "
    "covers any number up to it."
)
PROVED = "Whichever rows are misfiled, the true value lies in the shaded band."
NOT_PROVED = (
    "The shaded band covers all values found. Where the table has a star, the true value may lie outside."
)
CUT = "Intervals that are several times wider than most are cut off; the table has their ends."
CHANCE = "Dashed: if the groups did not differ, 95 % of all values would lie below this line."
FAR = 3.0  # ends this many times as far apart as those of half the points are not drawn to their end
P_TICKS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.5, 1.0)


def sweep_contents(result: SweepResult, names: RowNames) -> Contents:
    """Return what the page of a sweep says."""
    x, y = shown(result.name_x), shown(result.name_y)
    single = single_rows(
        result,
        names,
        n_rows=result.n_listed,
        title=f"Rows filed under {y} to check first",
        caption=f"Rows filed under {y} to check first, at the share chosen above",
    )
    about = EXACTLY if result.exactly else ""
    notes = (testing.tried(result), testing.breakdown_of_value(result), result.units_note, about)
    return Contents(
        title=f"{x} and {y}: how much misfiling could explain the difference?",
        answer=testing.breakdown(result),
        slider=f"Share of the true {x} rows that are filed under {y}",
        moments=[
            Moment(label=share_label(p.epsilon, p.n_moved), sentences=_sentences(result, p), rows=rows)
            for p, rows in zip(result.points, single.bodies, strict=True)
        ],
        # The last point up to which the finding holds, the first if it never does.
        start=max(
            (i for i, p in enumerate(result.points) if p.n_moved <= (result.holds_n_moved or 0)), default=0
        ),
        figures=[_bounds_figure(result), _pvalue_figure(result), *single.figures],
        table=Table.of(
            testing.CURVE_COLUMNS,
            result.points,
            caption="Bounds on the squared MMD and p-values, by the share of misfiled rows",
            notes=testing.curve_notes(result),
        ),
        rows=single.table,
        notes=[note for note in notes if note],
        assumptions=result.conditions,
        assumed=testing.conditions_head(result),
        remarks=[testing.ROUNDING],
        settings=[
            ("significance level", percent(result.level)),
            ("labellings", labellings_used(result)),
        ],
    )


def _sentences(result: SweepResult, point: SweepPoint) -> list[str]:
    here = bounds_at(result, point)
    return [assumption(here), finding(here), testing.pvalues_at(point, result)]


def bounds_at(result: SweepResult, point: SweepPoint) -> BoundsResult:
    """Return one point of the curve as the result that the sentences are about."""
    none = np.empty(0, dtype=np.intp)
    low, high = point.lower_certified, point.upper_certified
    same = ("observed", "n_samples_X", "n_samples_Y", "name_x", "name_y", "provenance")
    return BoundsResult(
        lower=Bound(side="lower", value=point.lower, certified=low, rows=none, rows_of_x=none),
        upper=Bound(side="upper", value=point.upper, certified=high, rows=none, rows_of_x=none),
        n_moved=point.n_moved,
        exactly=result.exactly or not point.n_moved,
        epsilon=point.epsilon,
        share_of_y=point.n_moved / result.n_samples_Y,
        **{name: getattr(result, name) for name in same},
    )


def _bounds_figure(result: SweepResult) -> Figure:
    at_points = [bounds_at(result, point) for point in result.points]
    ends = [at.interval for at in at_points]
    series: Series = {
        charts.UPPER: [high for _, high in ends],
        charts.LOWER: [low for low, _ in ends],
        charts.FILED: [result.observed] * len(ends),
    }
    nulls = [point.null_quantile for point in result.points]
    if any(quantile is not None for quantile in nulls):
        series[charts.CHANCE] = nulls
    scale = _window(ends)
    y = charts.quantitative("f2", "squared MMD", axis={"tickCount": 6}, scale=scale)
    title = "Squared MMD of the true groups"
    spec = _over_shares(result, ends, series, y, f"{title}: lower and upper bound")
    proved = all(at.is_certified for at in at_points)
    caption = [PROVED if proved else NOT_PROVED]
    caption += [CHANCE] if charts.CHANCE in series else []
    caption += [CUT] if "domain" in scale else []
    return Figure(name="bounds", title=title, caption=" ".join(caption), spec=spec)


def _window(ends: Sequence[tuple[float, float]]) -> charts.Spec:
    """Return the scale of the values: with hardly a row left in a group they would flatten all others."""
    widths = sorted(abs(high - low) for low, high in ends)
    widest = FAR * widths[len(widths) // 2]
    near = [value for both in ends if abs(both[1] - both[0]) <= widest for value in both]
    if len(near) == 2 * len(ends) or not near:
        return {}
    return {"domain": [min(0.0, *near), max(near)], "nice": True}


def _pvalue_figure(result: SweepResult) -> Figure:
    ends = [(point.best_case, point.pvalue) for point in result.points]
    series: Series = {charts.WORST: [worst for _, worst in ends], charts.BEST: [best for best, _ in ends]}
    least = min(1 / (result.n_permutations + 1), *(point.pvalue for point in result.points))
    y = charts.quantitative(
        "f2",
        "p-value",
        scale={"type": "log", "domain": [0.8 * min(least, result.level), 1], "nice": False},
        axis={"values": [tick for tick in P_TICKS if tick >= least], "format": "~g"},
    )
    title = "p-values of the test for a difference"
    spec = _over_shares(result, ends, series, y, f"{title}: smallest and largest possible value")
    spec["datasets"]["level"] = [{"f2": result.level}]
    spec["layer"].append(charts.layer("level", charts.DOTTED, {"y": y}))
    caption = (
        "Only the largest is the p-value of the test. At or below the dotted line, "
        f"{percent(result.level)}, it shows a difference. The scale is logarithmic."
    )
    return Figure(name="pvalues", title=title, caption=caption, spec=spec)


def _over_shares(result: SweepResult, ends: Ends, series: Series, y: charts.Spec, words: str) -> charts.Spec:
    """Return curves over the shares of a sweep; the values as filed and of chance have no dot on them."""
    points = [
        {
            "f0": place,
            "f1": point.epsilon,
            "f2": low,
            "f3": high,
            **{f"f{4 + i}": cell for i, cell in enumerate(testing.curve_cells(point))},
        }
        for place, (point, (low, high)) in enumerate(zip(result.points, ends, strict=True))
    ]
    still = (charts.FILED, charts.CHANCE)
    lines = [
        {"f0": place, "f1": point.epsilon, "f2": value, "f3": name, "f4": name not in still}
        for name, values in series.items()
        for place, (point, value) in enumerate(zip(result.points, values, strict=True))
    ]
    share = result.breakdown_epsilon
    marks = [] if share is None else [{"f0": share, "f1": "breakdown"}]
    words = f"{words} over the share of misfiled rows. The same numbers are in the table on this page."
    hover = [heading for heading, _ in testing.CURVE_COLUMNS]
    return charts.over_shares(points, lines, list(series), y, hover, marks, words)

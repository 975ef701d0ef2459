"""The page of a sweep: a slider over the shares of its curve, and the table that `summary()` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mmdbounds.report import charts
from mmdbounds.report.contents import Columns, Figure, Moment, Part, Table, share_label
from mmdbounds.report.rows import RowNames, single_rows
from mmdbounds.results import Bound, BoundsResult, SweepPoint, SweepResult
from mmdbounds.words import testing
from mmdbounds.words.bounds import LARGE_GAP, finding
from mmdbounds.words.phrases import assumption, capitalised, labellings_used, percent, shown, statistic

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
GAPS = (
    "Dashed lines: the most extreme values that were found. Where they differ from the proved bounds, the "
    "extreme lies in the coloured strip between the two."
)
CUT = "Intervals that are several times wider than most are cut off; the table has their ends."
CHANCE = "Dashed grey line: if the groups did not differ, 95 % of all values would lie below it."
FAR = 3.0  # ends this many times as far apart as those of half the points are not drawn to their end
P_TICKS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.5, 1.0)
FIRST_SHOWN = 0.1  # share at which the slider starts, unless the finding breaks down before


def sweep_part(result: SweepResult, names: RowNames, first: float | None = None) -> Part:
    """Return what the page of a sweep says, beginning with the share `first` if one was named."""
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
    columns = [each for each in testing.CURVE_COLUMNS if any(map(each[1], result.points))]
    return Part(
        heading="How much misfiling could explain the difference",
        question=f"{x} (X) and {y} (Y): how much misfiling could explain the difference?",
        answer=[testing.breakdown(result)],
        slider=f"Share of the true {x} rows that are filed under {y}",
        moments=[
            Moment(
                share=p.epsilon,
                label=share_label(p.epsilon, p.n_moved),
                sentences=_sentences(result, p),
                rows=rows,
            )
            for p, rows in zip(result.points, single.bodies, strict=True)
        ],
        start=_start(result, first),
        figures=[
            _bounds_figure(result, columns),
            _pvalue_figure(result, columns),
            *single.figures,
        ],
        tables=[
            Table.of(
                columns,
                result.points,
                name="curve",
                caption=f"Bounds on the {statistic(result)} and p-values, by the share of misfiled rows",
                notes=testing.curve_notes(result),
            )
        ],
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


def _start(result: SweepResult, first: float | None) -> int:
    """Return the place of the point shown first: next to 10 %, or to the breakdown if that is less."""
    if first is None:
        breakdown = result.breakdown_epsilon
        first = FIRST_SHOWN if breakdown is None else min(FIRST_SHOWN, breakdown)
    return min(range(len(result.points)), key=lambda i: abs(result.points[i].epsilon - first))


def _sentences(result: SweepResult, point: SweepPoint) -> list[str]:
    here = bounds_at(result, point)
    return [assumption(here), finding(here), testing.pvalues_at(point, result)]


def bounds_at(result: SweepResult, point: SweepPoint) -> BoundsResult:
    """Return one point of the curve as the result that the sentences are about."""
    none = np.empty(0, dtype=np.intp)
    low, high = point.lower_certified, point.upper_certified
    same = ("observed", "n_samples_X", "n_samples_Y", "name_x", "name_y", "knowledge")
    return BoundsResult(
        lower=Bound(side="lower", value=point.lower, certified=low, rows=none, rows_of_x=none),
        upper=Bound(side="upper", value=point.upper, certified=high, rows=none, rows_of_x=none),
        n_moved=point.n_moved,
        exactly=result.exactly or not point.n_moved,
        epsilon=point.epsilon,
        share_of_y=point.n_moved / result.n_samples_Y,
        provenance=replace(result.provenance, misfiling={}),  # a point has its own share
        **{name: getattr(result, name) for name in same},
    )


def _bounds_figure(result: SweepResult, columns: Columns) -> Figure:
    at_points = [bounds_at(result, point) for point in result.points]
    ends = [at.interval for at in at_points]
    proved = all(at.is_certified for at in at_points)
    series: Series = {charts.UPPER: [high for _, high in ends], charts.LOWER: [low for low, _ in ends]}
    gaps = _gaps(at_points) if proved else {}
    series |= {name: found for name, (_, found) in gaps.items()}
    series[charts.FILED] = [result.observed] * len(ends)
    nulls = [point.null_quantile for point in result.points]
    if any(quantile is not None for quantile in nulls):
        series[charts.CHANCE] = nulls
    scale = _window(ends)
    x, y, name = shown(result.name_x), shown(result.name_y), statistic(result)
    axis = charts.quantitative("f2", name, axis={"tickCount": 6}, scale=scale)
    title = f"{capitalised(name)} between the true {x} and the true {y} rows"
    words = f"{capitalised(name)} of the true groups: lower and upper bound"
    spec = _over_shares(result, ends, series, axis, columns, words, gaps)
    caption = [PROVED if proved else NOT_PROVED]
    caption += [GAPS] if gaps else []
    caption += [CHANCE] if charts.CHANCE in series else []
    caption += [CUT] if "domain" in scale else []
    return Figure(name="bounds", title=title, caption=" ".join(caption), spec=spec)


def _gaps(at_points: Sequence[BoundsResult]) -> dict[str, tuple[str, Sequence[float]]]:
    """Return the values found where proofs differ from them: the name of the bound, and the values."""
    sides = {
        charts.FOUND_UPPER: (charts.UPPER, [at.upper for at in at_points]),
        charts.FOUND_LOWER: (charts.LOWER, [at.lower for at in at_points]),
    }
    widest = max(abs(at.width) for at in at_points)
    return {
        name: (bound, [each.value for each in every])
        for name, (bound, every) in sides.items()
        if max(each.gap or 0.0 for each in every) > LARGE_GAP * widest
    }


def _window(ends: Sequence[tuple[float, float]]) -> charts.Spec:
    """Return the scale of the values: with hardly a row left in a group they would flatten all others."""
    widths = sorted(abs(high - low) for low, high in ends)
    widest = FAR * widths[len(widths) // 2]
    near = [value for both in ends if abs(both[1] - both[0]) <= widest for value in both]
    if len(near) == 2 * len(ends) or not near:
        return {}
    return {"domain": [min(0.0, *near), max(near)], "nice": True}


def _pvalue_figure(result: SweepResult, columns: Columns) -> Figure:
    ends = [(None, point.pvalue) for point in result.points]
    series: Series = {charts.WORST: [point.pvalue for point in result.points]}
    least = min(1 / (result.n_permutations + 1), *(point.pvalue for point in result.points))
    y = charts.quantitative(
        "f2",
        "p-value",
        scale={"type": "log", "domain": [0.8 * min(least, result.level), 1], "nice": False},
        axis={"values": [tick for tick in P_TICKS if tick >= least], "format": "~g"},
    )
    title = "p-values of the test for a difference"
    spec = _over_shares(result, ends, series, y, columns, f"{title}: largest possible value")
    spec["datasets"]["level"] = [{"f2": result.level}]
    spec["layer"].append(charts.layer("level", charts.DOTTED, {"y": y}))
    caption = (
        f"The largest over all labellings. At or below the dotted line, {percent(result.level)}, it shows a "
        "difference. The scale is logarithmic."
    )
    return Figure(name="pvalues", title=title, caption=caption, spec=spec)


def _over_shares(
    result: SweepResult,
    ends: Ends,
    series: Series,
    y: charts.Spec,
    columns: Columns,
    words: str,
    gaps: Mapping[str, tuple[str, Any]] | None = None,
) -> charts.Spec:
    """Return curves over the shares of a sweep; only those that bound the true value have a dot on them."""
    points = [
        {
            "f0": place,
            "f1": point.epsilon,
            "f2": low,
            "f3": high,
            **{f"f{4 + i}": cell(point) for i, (_, cell) in enumerate(columns)},
        }
        for place, (point, (low, high)) in enumerate(zip(result.points, ends, strict=True))
    ]
    moving = (charts.UPPER, charts.LOWER, charts.WORST)
    shaded = {name: series[bound] for name, (bound, _) in (gaps or {}).items()}
    lines = [
        {
            "f0": place,
            "f1": point.epsilon,
            "f2": value,
            "f3": name,
            "f4": name in moving,
            "f5": shaded[name][place] if name in shaded else None,
        }
        for name, values in series.items()
        for place, (point, value) in enumerate(zip(result.points, values, strict=True))
    ]
    share = result.breakdown_epsilon
    marks = [] if share is None else [{"f0": share, "f1": "breakdown"}]
    words = f"{words} over the share of misfiled rows. The same numbers are in the table on this page."
    return charts.over_shares(
        points, lines, _share_axis(result), y, [name for name, _ in columns], marks, words
    )


def _share_axis(result: SweepResult) -> charts.Spec:
    """Return the position of a share: on the scale of the slider, from the first share to the last."""
    text = f"share of the true {shown(result.name_x)} rows that are filed under {shown(result.name_y)}"
    first, last = result.points[0].epsilon, result.points[-1].epsilon
    scale = {"domain": [first, last], "nice": False, "zero": False} if first < last else {}
    axis = {"format": "~%", "grid": False, "tickCount": 6}
    return charts.quantitative("f1", charts.in_lines(text), axis=axis, scale=scale)

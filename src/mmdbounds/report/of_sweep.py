"""The page of a sweep: a slider over the shares of its curve."""

from __future__ import annotations

from collections.abc import Sequence

from mmdbounds.report import charts
from mmdbounds.report.contents import Contents, Figure, Moment, Table
from mmdbounds.report.rows import CHANGE, RowNames, chart_values, head, how_many, table_body
from mmdbounds.results import Bound, BoundsResult, Side
from mmdbounds.results.curve import SweepPoint, SweepResult
from mmdbounds.search.found import NO_ROWS
from mmdbounds.words import testing
from mmdbounds.words.bounds import finding
from mmdbounds.words.phrases import assumption, percent, rows, shown

Columns = dict[str, Sequence[float | None]]

EXACTLY = (
    "Curves and table take exactly so many rows as misfiled; the answer at the top is about up to so many."
)
PROVED = "Whichever rows are misfiled, the true value lies in the shaded band."
NOT_PROVED = (
    "The shaded band holds all values found; where they have a star in the table, others may lie outside."
)
CUT = "Ends that are several times as far apart as most are cut off; the table has them."
CHANCE = "Dashed: without a difference, 95 % of the values that chance makes lie below."
FAR = 3.0
"""Ends this many times as far apart as those of half the points are not drawn to their end."""

P_TICKS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.5, 1.0)


def sweep_contents(result: SweepResult, names: RowNames) -> Contents:
    """Return what the page of a sweep says."""
    x, y = shown(result.name_x), shown(result.name_y)
    moments = [_moment(result, point, names) for point in result.points]
    has_rows = any(point.rows for point in result.points)
    return Contents(
        title=f"{x} and {y}: how much misfiling would explain the difference?",
        answer=testing.breakdown(result),
        slider=f"Share of the true {x} rows that is filed under {y}",
        moments=moments,
        start=_start(result),
        figures=[_bounds_figure(result), _pvalue_figure(result), *([_row_figure(result, names)] * has_rows)],
        table=Table(
            caption="Bounds on the squared MMD and p-values, by the share of misfiled rows",
            head=testing.CURVE_HEAD,
            body=[testing.curve_cells(point) for point in result.points],
            notes=testing.curve_notes(result),
        ),
        rows=_row_table(result, names) if has_rows else None,
        notes=[
            testing.tried(result),
            testing.breakdown_of_value(result),
            *([result.units_note] * bool(result.units_note)),
            EXACTLY,
        ],
        assumptions=result.conditions,
        assumed=testing.conditions_head(result),
        remarks=[testing.ROUNDING],
        settings=[
            ("level of the test", percent(result.level)),
            ("permutations", f"{result.n_permutations:,}"),
        ],
    )


def _start(result: SweepResult) -> int:
    """Return the last point up to which the finding holds, the first if it never does."""
    holds = result.holds_n_moved or 0
    return max((i for i, point in enumerate(result.points) if point.n_moved <= holds), default=0)


def _moment(result: SweepResult, point: SweepPoint, names: RowNames) -> Moment:
    at = bounds_at(result, point)
    letters = "Y" * len(point.rows.get("row", ()))
    return Moment(
        label=f"{percent(point.epsilon)} ({rows(point.n_moved)})",
        said=[assumption(at), finding(at), testing.pvalues_at(point, result)],
        rows=table_body(point.rows, letters, names) if letters else [],
    )


def bounds_at(result: SweepResult, point: SweepPoint) -> BoundsResult:
    """Return one point of the curve as the result that the sentences are about."""
    return BoundsResult(
        lower=_bound("lower", point.lower, point.lower_certified),
        upper=_bound("upper", point.upper, point.upper_certified),
        observed=result.observed,
        n_samples_X=result.n_samples_X,
        n_samples_Y=result.n_samples_Y,
        n_moved=point.n_moved,
        epsilon=point.epsilon,
        share_of_y=point.n_moved / result.n_samples_Y,
        name_x=result.name_x,
        name_y=result.name_y,
        provenance=result.provenance,
    )


def _bound(side: Side, value: float, certified: float | None) -> Bound:
    return Bound(side=side, value=value, certified=certified, rows=NO_ROWS, rows_of_x=NO_ROWS)


def _bounds_figure(result: SweepResult) -> Figure:
    ends = [bounds_at(result, point).interval for point in result.points]
    nulls = [point.null_quantile for point in result.points]
    columns: Columns = {
        charts.LARGEST: [high for _, high in ends],
        charts.SMALLEST: [low for low, _ in ends],
        charts.FILED: [result.observed] * len(ends),
        charts.CHANCE: nulls,
    }
    if not any(quantile is not None for quantile in nulls):
        del columns[charts.CHANCE]
    title = "Squared MMD of the true groups"
    spec = charts.over_shares(
        _hover_values(result, ends),
        _line_values(result, columns, moving=(charts.LARGEST, charts.SMALLEST)),
        list(columns),
        charts.quantitative("f2", "squared MMD", axis={"tickCount": 6}, scale=_window(ends)),
        testing.CURVE_HEAD,
        _breakdown_mark(result),
        f"{title}: smallest and largest possible value over the share of misfiled rows. "
        "The same numbers are in the table of this page.",
    )
    proved = all(bounds_at(result, point).is_certified for point in result.points)
    said = {
        PROVED: proved,
        NOT_PROVED: not proved,
        CHANCE: charts.CHANCE in columns,
        CUT: "domain" in _window(ends),
    }
    caption = " ".join(words for words, holds in said.items() if holds)
    return Figure(name="bounds", title=title, caption=caption, spec=spec)


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
    columns: Columns = {charts.WORST: [worst for _, worst in ends], charts.BEST: [best for best, _ in ends]}
    least = 1 / (result.n_permutations + 1)
    y = charts.quantitative(
        "f2",
        "p-value",
        scale={"type": "log", "domain": [min(least, result.level), 1], "nice": False},
        axis={"values": [tick for tick in P_TICKS if tick >= least], "format": "~g"},
    )
    title = "p-values of the test for a difference"
    spec = charts.over_shares(
        _hover_values(result, ends),
        _line_values(result, columns, moving=tuple(columns)),
        list(columns),
        y,
        testing.CURVE_HEAD,
        _breakdown_mark(result),
        f"{title}: smallest and largest possible one over the share of misfiled rows. "
        "The same numbers are in the table of this page.",
    )
    dotted = {"type": "rule", "color": charts.GREY, "strokeDash": [2, 3], "strokeWidth": 1.5}
    spec["datasets"]["level"] = [{"f2": result.level}]
    spec["layer"].append(charts.layer("level", dotted, {"y": y}))
    caption = (
        "Only the largest is a p-value of the test. Up to the dotted line, "
        f"{percent(result.level)}, it shows a difference. The scale is logarithmic."
    )
    return Figure(name="pvalues", title=title, caption=caption, spec=spec)


def _row_figure(result: SweepResult, names: RowNames) -> Figure:
    values = [
        value
        for place, point in enumerate(result.points)
        for value in chart_values(point.rows, "Y" * len(point.rows.get("row", ())), names, place)
    ]
    title = f"Rows of {shown(result.name_y)} that matter most"
    spec = charts.row_changes(
        values, "What single rows do to the two bounds. The same numbers are in the table of rows."
    )
    caption = f"Filled: the row is among those that move there; hollow: it is not. {CHANGE}"
    return Figure(name="rows", title=title, caption=caption, spec=spec, of_rows=True)


def _row_table(result: SweepResult, names: RowNames) -> Table:
    kept = max(len(point.rows.get("row", ())) for point in result.points)
    caption = f"Rows filed under {shown(result.name_y)} that matter most at the share chosen above"
    return Table(caption=caption, head=head(names), body=[], notes=[how_many(result.n_samples_Y, kept)])


def _hover_values(result: SweepResult, ends: Sequence[tuple[float | None, float | None]]) -> charts.Values:
    """Return one value for each point: its place, share, both ends, and the cells of the table as text."""
    return [
        {
            "f0": place,
            "f1": point.epsilon,
            "f2": low,
            "f3": high,
            **{f"f{4 + i}": cell for i, cell in enumerate(testing.curve_cells(point))},
        }
        for place, (point, (low, high)) in enumerate(zip(result.points, ends, strict=True))
    ]


def _line_values(result: SweepResult, columns: Columns, moving: Sequence[str]) -> charts.Values:
    """Return the curves; those named in `moving` have a dot where the slider is."""
    return [
        {"f0": place, "f1": point.epsilon, "f2": value, "f3": name, "f4": name in moving}
        for name, column in columns.items()
        for place, (point, value) in enumerate(zip(result.points, column, strict=True))
    ]


def _breakdown_mark(result: SweepResult) -> charts.Values:
    share = result.breakdown_epsilon
    return [] if share is None else [{"f0": share, "f1": "breakdown"}]

"""The pages about one share of misfiled rows, without a slider: a pair of bounds, and a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mmdbounds.report import charts
from mmdbounds.report.contents import Columns, Figure, Moment, Part, Table, share_label
from mmdbounds.report.rows import RowNames, single_rows
from mmdbounds.results import Bound, BoundsResult, RobustTestResult
from mmdbounds.words import testing
from mmdbounds.words.bounds import LARGE_GAP, UNPROVED, finding
from mmdbounds.words.phrases import capitalised, labellings_used, number, proved_number, shown, statistic

PROVED, FOUND = "proved limit", "value found"
COUNT_ASSUMED = "the number of misfiled rows is as assumed;"
BARS = 40  # bars of the histogram: it stays small for any number of permutations


class End(NamedTuple):
    """A row of the table of bounds; `bound` is `None` for the value as filed."""

    name: str
    value: float
    bound: Bound | None = None


# The table of bounds; each cell is a function of an `End`.
BOUNDS_COLUMNS: Columns = (
    ("bound", lambda end: end.name),
    (FOUND, lambda end: number(end.value)),
    (PROVED, lambda end: "" if end.bound is None else _proved(end.bound)),
    ("rows moved", lambda end: "" if end.bound is None else _n_moved(end.bound)),
    ("remarks", lambda end: "" if end.bound is None else _remarks(end.bound)),
)


def bounds_part(result: BoundsResult, names: RowNames, *, with_rows: bool = True) -> Part:
    """Return what the page of a pair of bounds says."""
    single = single_rows(
        result,
        names,
        n_rows=result.n_listed,
        title="Rows to check first",
        caption="Rows that may be misfiled, those to check first on top",
    )
    ends = [
        End("lower bound", result.lower.value, result.lower),
        End("as filed", result.observed),
        End("upper bound", result.upper.value, result.upper),
    ]
    moment = Moment(
        share=result.epsilon, label=share_label(result.epsilon, result.n_moved), rows=single.bodies[0]
    )
    return Part(
        heading="Bounds on the difference",
        question=f"{_groups(result)}: how different are they if some rows are misfiled?",
        answer=[finding(result)],
        moments=[moment] if with_rows else [],
        figures=[_range_figure(result), *(single.figures if with_rows else [])],
        tables=[Table.of(BOUNDS_COLUMNS, ends, name="bounds-table", caption=_true(result))],
        rows=single.table if with_rows else None,
        assumptions=[COUNT_ASSUMED, f"{testing.RELABELLED.rstrip(';')}."],
    )


def _groups(result: BoundsResult | RobustTestResult) -> str:
    return f"{shown(result.name_x)} (X) and {shown(result.name_y)} (Y)"


def _true(result: BoundsResult) -> str:
    return f"{capitalised(statistic(result))} of the true groups"


def _axis(result: BoundsResult | RobustTestResult) -> str:
    return f"{statistic(result)} between {shown(result.name_x)} and {shown(result.name_y)}"


def _proved(bound: Bound) -> str:
    return "" if bound.certified is None else proved_number(bound.certified, bound.side)


def _n_moved(bound: Bound) -> str:
    return f"{bound.n_moved + bound.n_moved_of_x:,}" if bound.has_rows else ""


def _remarks(bound: Bound) -> str:
    """Say how the search ended, unless as usual, and what is missing."""
    unproved = UNPROVED[bound.kind] if bound.certified is None else ""
    return "; ".join(part for part in (bound.status, unproved) if part)


def _is_wide(bound: Bound, result: BoundsResult) -> bool:
    """Return whether what is proved and what was found can be told apart in a chart."""
    return (bound.gap or 0.0) > LARGE_GAP * abs(result.width)


def _range_figure(result: BoundsResult) -> Figure:
    both = (result.lower, result.upper)
    values: charts.Values = [{"f0": result.observed, "f1": charts.FILED, "f2": number(result.observed)}]
    values += [{"f0": bound.value, "f1": FOUND, "f2": number(bound.value)} for bound in both]
    proved = [bound for bound in both if bound.certified is not None]
    values += [{"f0": bound.certified, "f1": PROVED, "f2": _proved(bound)} for bound in proved]
    low, high = result.interval
    ranges: charts.Values = [{"f0": low, "f1": high, "f2": False}]
    ranges += [
        {"f0": bound.certified, "f1": bound.value, "f2": True} for bound in proved if _is_wide(bound, result)
    ]
    words = f"{_true(result)}. The same numbers are in the table below."
    spec = charts.interval(ranges, values, (PROVED, FOUND, charts.FILED), _axis(result), words)
    gaps = " In the strip between a value found and its proved limit the extreme is not known."
    caption = f"The range that the assumed misfiling allows.{gaps if len(ranges) > 1 else ''}"
    name, x, y = capitalised(statistic(result)), shown(result.name_x), shown(result.name_y)
    title = f"{name} between the true {x} and the true {y} rows"
    return Figure(name="range", title=title, caption=caption, spec=spec)


class Case(NamedTuple):
    """A row of the table of a test, in digits."""

    name: str
    pvalue: str
    statistic: str = ""
    n_moved: str = ""


# The table of a test; each cell is a function of a `Case`, and the statistic has its name there.
STATISTIC = "statistic"
TEST_COLUMNS: Columns = (
    ("case", lambda case: case.name),
    ("p-value", lambda case: case.pvalue),
    (STATISTIC, lambda case: case.statistic),
    ("misfiled rows", lambda case: case.n_moved),
)


def part_of_test(result: RobustTestResult) -> Part:
    """Return what the page of a test says."""
    notes = ["As filed: valid only if nothing is misfiled."]
    if not result.is_valid:
        notes.append("* reached by a labelling, not proved")
    caption = "p-values for no difference between the true groups"
    columns = [(statistic(result) if name == STATISTIC else name, cell) for name, cell in TEST_COLUMNS]
    return Part(
        heading="Test for a difference",
        question=f"{_groups(result)}: do they differ even if some rows are misfiled?",
        answer=[testing.statement(result)],
        figures=[_null_figure(result)],
        tables=[Table.of(columns, _cases(result), name="test-table", caption=caption, notes=notes)],
        notes=[result.units_note] if result.units_note else [],
        assumptions=result.conditions,
        assumed=testing.conditions_head(result),
        remarks=[testing.ROUNDING],
        settings=[("labellings", labellings_used(result))],
    )


def _cases(result: RobustTestResult) -> Iterator[Case]:
    star = "" if result.is_valid else "*"
    n_moved = f"{result.n_moved + result.n_moved_of_x:,}"
    yield Case("worst case", number(result.pvalue), f"{_statistic(result)}{star}", n_moved)
    yield Case("as filed", number(result.pvalue_as_filed), number(result.observed), "0")


def _statistic(result: RobustTestResult) -> str:
    return proved_number(result.statistic, "lower") if result.is_valid else number(result.statistic)


def _null_figure(result: RobustTestResult) -> Figure:
    marks = [
        {"f0": result.statistic, "f1": charts.LOWER, "f2": _statistic(result)},
        {"f0": result.observed, "f1": charts.FILED, "f2": number(result.observed)},
    ]
    if (quantile := result.null_quantile) is not None:
        marks.append({"f0": quantile, "f1": charts.CHANCE, "f2": number(quantile)})
    shares = None if result.null_weights is None else 100 * result.null_weights
    counts, edges = np.histogram(result.null, bins=BARS, weights=shares)
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    bars = [{"f0": low, "f1": high, "f2": count} for low, high, count in ends]
    title = "What chance alone would give, and what was found"
    words = f"{title}: {statistic(result)} of labellings. The p-values are in the table below."
    height = "random labellings" if shares is None else "labellings (%)"
    spec = charts.histogram(bars, marks, [str(mark["f1"]) for mark in marks], _axis(result), words, height)
    which = "all labellings" if result.is_exact else f"{result.n_labellings:,} random labellings"
    caption = (
        f"Bars: the {statistic(result)} of {which}, with the group sizes of the "
        "worst case. Solid line: the lower bound on that of the true groups."
    )
    return Figure(name="null", title=title, caption=caption, spec=spec)

"""The page of a test: the p-value, and what it is compared with."""

from __future__ import annotations

import numpy as np

from mmdbounds.report import charts
from mmdbounds.report.contents import Contents, Figure, Moment, Table
from mmdbounds.results.testing import RobustTestResult
from mmdbounds.words import testing
from mmdbounds.words.phrases import assumption, number, percent, proved_number, rows, shown

BARS = 40
"""Bars of the histogram: it stays small for any number of permutations."""


def test_contents(result: RobustTestResult) -> Contents:
    """Return what the page of a test says."""
    x, y = shown(result.name_x), shown(result.name_y)
    return Contents(
        title=f"{x} and {y}: do they differ, although rows may be misfiled?",
        answer=f"{assumption(result)} {testing.statement(result)}",
        moments=[Moment(label=f"{percent(result.epsilon)} ({rows(result.n_moved_range[1])})", said=[])],
        figures=[_null_figure(result)],
        table=_table(result),
        notes=[result.units_note] if result.units_note else [],
        assumptions=result.conditions,
        assumed=testing.conditions_head(result),
        remarks=[testing.ROUNDING],
        settings=[("permutations", f"{result.n_permutations:,}")],
    )


test_contents.__test__ = False  # type: ignore[attr-defined]  # pytest collects names that begin so


def _table(result: RobustTestResult) -> Table:
    worst = proved_number(result.statistic, "lower") if result.is_valid else f"{number(result.statistic)}*"
    body = [
        ["worst case", number(result.pvalue), worst, f"{result.n_moved + result.n_moved_of_x:,}"],
        ["as filed", number(result.pvalue_as_filed), number(result.observed), "0"],
    ]
    if result.pvalue_range is not None:
        body.append(["best case", number(result.pvalue_range[0]), "", ""])
    notes = ["As filed: valid only if nothing is misfiled."]
    if result.pvalue_range is not None:
        notes.append("Best case: no labelling has less; not a p-value.")
    if not result.is_valid:
        notes.append("* reached by a labelling, not proved")
    return Table(
        caption="p-values for no difference between the true groups",
        head=("", "p-value", "squared MMD", "misfiled rows"),
        body=body,
        notes=notes,
    )


def _null_figure(result: RobustTestResult) -> Figure:
    known = {
        charts.SMALLEST: result.statistic,
        charts.FILED: result.observed,
        charts.CHANCE: result.null_quantile,
    }
    marks = [
        {"f0": value, "f1": name, "f2": number(value)} for name, value in known.items() if value is not None
    ]
    counts, edges = np.histogram(result.null, bins=BARS)
    bars = [
        {"f0": low, "f1": high, "f2": count}
        for low, high, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    ]
    title = "What chance makes, and what was found"
    spec = charts.histogram(
        bars,
        marks,
        [str(mark["f1"]) for mark in marks],
        f"{title}: squared MMD on random labellings. The p-values are in the table below.",
    )
    caption = (
        f"Squared MMD on {result.n_permutations:,} random labellings with the sizes of the worst case, and "
        "the smallest possible value of the true groups."
    )
    return Figure(name="null", title=title, caption=caption, spec=spec)

"""Results for machines: as CSV, in cells that no spreadsheet runs, and as the bare answer of ``--quiet``."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmdbounds.evaluation import Evaluation
    from mmdbounds.results import AuditResult, BoundsResult, Result
    from mmdbounds.results.curve import FrontierResult, SweepResult
    from mmdbounds.results.several import HsicResult
    from mmdbounds.results.testing import RobustTestResult

Columns = Mapping[str, Iterable[Any]]

WHO = (
    *("name_x", "name_y", "n_samples_X", "n_samples_Y", "epsilon", "n_moved", "n_moved_of_x", "exactly"),
    "observed",
)
TESTED = (
    *("pvalue_as_filed", "is_valid", "is_tight", "level", "is_significant", "is_exact", "beta"),
    "n_permutations",
)
POINT = (
    *("epsilon", "n_moved", "lower", "upper", "lower_certified", "upper_certified"),
    *("pvalue", "null_quantile"),
)
COLUMN = (
    *("name", "mean_x", "mean_y", "difference", "difference_lower", "difference_upper"),
    *("standardised", "standardised_lower", "standardised_upper", "auc", "auc_lower", "auc_upper"),
    *("sign_lost", "n_missing"),
)
ODDS_POINT = (
    *("epsilon", "n_moved", "odds", "lower", "upper", "lower_certified", "upper_certified"),
    "point",
)
INDEPENDENCE = (
    *("n_samples", "n_moved", "exactly", "observed", "statistic", "pvalue", "pvalue_as_filed", "is_valid"),
    *("n_sizes", "n_considered", "n_permutations"),
)
FRONTIER_POINT = ("epsilon", "y_in_x", "n_moved", "n_moved_of_x", "breakdown_y_in_x", "is_tight")

# A cell that begins so is a formula to a spreadsheet, after blanks too, and in full width to some. Text can
# begin a cell of its own where a spreadsheet takes another character than our comma for the separator.
_FORMULA = re.compile("(^|[;\t\r\n])(?=[\t\r\n]|\\s*[=+@\uff1d\uff0b\uff0d\uff20-])")
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def as_csv(result: Result) -> str:
    """Return the numbers of a result as CSV."""
    return _csv(FORMS[type(result).__name__][0](result))


def as_bare(result: Result) -> str:
    """Return the answer alone."""
    return FORMS[type(result).__name__][1](result)


def rows_csv(result: BoundsResult) -> str:
    """Return `BoundsResult.row_table` as CSV: names and numbers of rows, no values of their columns."""
    table = result.row_table()
    named = [name for name in ("id", "file_row") if any(cell is not None for cell in table[name])]
    who = ("group", *(named or ["row"]))  # by their places in the group only where nothing else is known
    return _csv(
        {name: table[name] for name in (*who, "in_lower", "in_upper", "lower_change", "upper_change")}
    )


def no_formula(text: str) -> str:
    """Return text with an apostrophe wherever a spreadsheet would start to run it as a formula."""
    return text if _PLAIN_NUMBER.fullmatch(text) else _FORMULA.sub(r"\1'", text)


def _csv(columns: Columns) -> str:
    """Return columns of equal length as CSV."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(_cell, row) for row in zip(*columns.values(), strict=True))
    return written.getvalue()


def _cell(value: Any) -> str:
    """Return a value as text: true and false, numbers that lose nothing, nothing for a missing one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return no_formula(value)
    plain = value.item() if hasattr(value, "item") else value
    return str(plain).lower() if isinstance(plain, bool) else repr(plain)


def _bounds_columns(result: BoundsResult) -> Columns:
    lower, upper = result.lower, result.upper
    found = {"lower": lower.value, "upper": upper.value}
    proved = {"lower_certified": lower.certified, "upper_certified": upper.certified}
    how = {"kind": lower.kind, "method": result.provenance.method}
    return _one_row(result, WHO, {**found, **proved, **how})


def _test_columns(result: RobustTestResult) -> Columns:
    return _one_row(result, (*WHO, "statistic", "pvalue", *TESTED))


def _hsic_columns(result: HsicResult) -> Columns:
    lower, upper = result.lower, result.upper
    found = {"lower": lower.value, "upper": upper.value}
    proved = {"lower_certified": lower.certified, "upper_certified": upper.certified}
    return _one_row(result, ("n_samples", "n_moved", "exactly", "observed"), {**found, **proved})


def _one_row(result: Any, names: Iterable[str], more: Mapping[str, Any] | None = None) -> Columns:
    cells = {name: getattr(result, name) for name in names} | {**(more or {})}
    return {name: [cell] for name, cell in cells.items()}


def _bare(*numbers: float) -> str:
    """Return numbers that lose nothing, with blanks between them."""
    return " ".join(repr(float(number)) for number in numbers)


def _bare_breakdown(result: SweepResult) -> str:
    """Return the share at which the finding breaks down, ``above`` the largest tried if at none of them."""
    share = result.breakdown_epsilon
    return f"above {_bare(result.share(result.most_moved))}" if share is None else _bare(share)


def _next_columns(result: AuditResult) -> Columns:
    """Return the rows that an audit looks up next."""
    named = {"id": result.ids_next, "file_row": result.file_rows_next}
    known = {name: each for name, each in named.items() if each is not None}
    return known or {"row": result.next_rows}


def _bare_decision(result: AuditResult) -> str:
    """Return the decision, and how many rows are missing to one."""
    return result.decision if result.is_decided else f"{result.decision} {result.n_more}"


def _bare_frontier(result: FrontierResult) -> str:
    """Return a line for each share of X: it, and the largest share of Y that the finding survives."""
    shares = ((point.epsilon, point.y_in_x) for point in result.points)
    return "\n".join(f"{_bare(x)} {'none' if y is None else _bare(y)}" for x, y in shares)


def _bare_rates(result: Evaluation) -> str:
    """Return a line for each method: its label, false coverage rate and mean width."""
    rates = {each.label: (each.false_coverage_rate, each.mean_interval_width) for each in result.methods}
    return "\n".join(f"{label} {_bare(*both)}" for label, both in rates.items())


# Columns and bare answer of each kind of result; by name, for a command loads no more than it needs.
FORMS: dict[str, tuple[Callable[[Any], Columns], Callable[[Any], str]]] = {
    "BoundsResult": (_bounds_columns, lambda result: _bare(*result.interval)),
    "RobustTestResult": (_test_columns, lambda result: _bare(result.pvalue)),
    "SweepResult": (
        lambda result: {n: [getattr(p, n) for p in result.points] for n in POINT},
        _bare_breakdown,
    ),
    "ColumnTable": (
        lambda result: {n: [getattr(row, n) for row in result.rows] for n in COLUMN},
        lambda result: "\n".join(
            f"{row.name} {_bare(row.difference, row.difference_lower, row.difference_upper)}"
            for row in result.rows
        ),
    ),
    "HsicResult": (_hsic_columns, lambda result: _bare(*result.interval)),
    "IndependenceResult": (
        lambda result: _one_row(result, INDEPENDENCE),
        lambda result: _bare(result.pvalue),
    ),
    "OddsSweepResult": (
        lambda result: {n: [getattr(p, n) for p in result.points] for n in ODDS_POINT},
        lambda result: "\n".join(
            f"{_bare(each.epsilon)} {'none' if each.odds is None else _bare(each.odds)}"
            for each in result.breakdown
        ),
    ),
    "ConfidenceInterval": (
        lambda result: _one_row(result, ("name_x", "name_y", "epsilon", "low", "high", "level", "label")),
        lambda result: _bare(*result.interval),
    ),
    "AuditResult": (_next_columns, _bare_decision),
    "FrontierResult": (
        lambda result: {n: [getattr(p, n) for p in result.points] for n in FRONTIER_POINT},
        _bare_frontier,
    ),
    "Evaluation": (lambda result: result.trial_table(), _bare_rates),
}

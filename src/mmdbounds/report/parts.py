"""Which results make a page together, and the sections that they become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mmdbounds.errors import MmdBoundsError
from mmdbounds.report.contents import Part
from mmdbounds.report.of_audit import audit_part
from mmdbounds.report.of_columns import columns_part
from mmdbounds.report.of_sweep import sweep_part
from mmdbounds.report.rows import RowNames
from mmdbounds.report.single_share import bounds_part, part_of_test
from mmdbounds.results import (
    AuditResult,
    BoundsResult,
    ColumnTable,
    Result,
    RobustTestResult,
    SweepResult,
)
from mmdbounds.words.explaining import effect_sizes, first_of

KINDS = (BoundsResult, RobustTestResult, SweepResult, AuditResult)  # in the order of their sections
FEW_ROWS = 5  # a category of fewer is not named unless rows may be shown
BESIDE = (ColumnTable,)  # what only stands beside them


def check_results(given: Any) -> list[Result]:
    """Return results in the order of a page, or say why they do not make one."""
    results = list(given) if isinstance(given, list | tuple) else [given]
    for each in results:
        if not isinstance(each, (*KINDS, *BESIDE)):
            known = ", ".join(kind.__name__ for kind in (*KINDS, *BESIDE))
            msg = f"a report needs results of type {known}; got {type(each).__name__}."
            raise MmdBoundsError(msg)
    if not any(isinstance(each, KINDS) for each in results):
        known = ", ".join(kind.__name__ for kind in KINDS)
        came = ", ".join(type(each).__name__ for each in results) or "none"
        msg = f"a report needs at least one of {known}; got {came}."
        raise MmdBoundsError(msg)
    kinds = [type(each).__name__ for each in results]
    if len(set(kinds)) < len(kinds):
        msg = f"a report shows one result of each type; got {', '.join(kinds)}. Write a page for each."
        raise MmdBoundsError(msg)
    whom = list(dict.fromkeys(map(_compared, results)))
    if len(whom) > 1:
        msg = f"the results of a report must be about the same rows; got {whom[0]} and {whom[1]}."
        raise MmdBoundsError(msg)
    order = (*KINDS, *BESIDE)
    return sorted(results, key=lambda each: order.index(type(each)))


def _compared(result: Any) -> str:
    """Return whom a result is about; rows that were refiled do not change their number in all."""
    n_rows = result.n_samples_X + result.n_samples_Y
    return f"{n_rows:,} rows of {result.name_x!r} and {result.name_y!r}"


def _sharpened(curve: SweepResult, found: BoundsResult) -> SweepResult:
    """Return a curve that is nowhere wider than bounds for the same measure allow: one number for one thing.

    Whatever holds for at most so many misfiled rows holds for every smaller number.
    """
    same = all(
        getattr(curve.provenance, name) == getattr(found.provenance, name)
        for name in ("kernel", "kernel_options", "bandwidth", "estimator")
    )
    low, high = found.lower.certified, found.upper.certified
    is_limit = not (curve.exactly or found.exactly or found.n_moved_of_x)
    if not same or not is_limit or low is None or high is None:
        return curve
    points = [
        replace(p, lower_certified=max(p.lower_certified, low), upper_certified=min(p.upper_certified, high))
        if p.n_moved <= found.n_moved and p.lower_certified is not None and p.upper_certified is not None
        else p
        for p in curve.points
    ]
    return replace(curve, points=tuple(points))


def as_shown(results: Sequence[Any], *, is_open: bool) -> list[Result]:
    """Return results as a page shows them: what a few rows hold only if asked."""
    if not is_open:
        results = [_without_rare(r) if isinstance(r, ColumnTable) else r for r in results]
    curve, found = first_of(results, SweepResult), first_of(results, BoundsResult)
    if curve is None:
        return list(results)
    new = curve if found is None else _sharpened(curve, found)
    return [new if result is curve else result for result in results]


def _without_rare(table: ColumnTable) -> ColumnTable:
    """Return a table that does not name categories of a few rows, whose name is a value of these rows."""
    rows = []
    for number, row in enumerate(table.rows, start=1):
        column, is_category, _ = row.name.partition("=")
        n_rows = row.mean_x * table.n_samples_X + row.mean_y * table.n_samples_Y
        is_rare = is_category and row.is_share and round(n_rows) < FEW_ROWS
        rows.append(replace(row, name=f"{column}=(rare, {number})") if is_rare else row)
    return replace(table, rows=tuple(rows))


def parts_of(results: Sequence[Result], names: RowNames) -> list[Part]:
    """Return the sections of a page; single rows are shown once, at every share where there is a slider."""
    curve, found = first_of(results, SweepResult), first_of(results, BoundsResult)
    parts = []
    for result in results:
        if isinstance(result, AuditResult):
            parts.append(audit_part(result, names))
        elif isinstance(result, BoundsResult):
            parts.append(bounds_part(result, names, with_rows=curve is None))
        elif isinstance(result, RobustTestResult):
            parts.append(part_of_test(result))
        elif isinstance(result, SweepResult):
            parts.append(sweep_part(result, names, None if found is None else found.epsilon))
        elif isinstance(result, ColumnTable):
            parts.append(columns_part(result))
    sizes = effect_sizes(results)
    return [Part(heading="How large the difference is", text=sizes), *parts] if sizes else parts

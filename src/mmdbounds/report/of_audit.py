"""The section about an audit: the decision, the rows looked up, and those to look up next."""

from __future__ import annotations

from typing import NamedTuple

from mmdbounds.report import charts
from mmdbounds.report.contents import Columns, Figure, Part, Table
from mmdbounds.report.rows import RowNames
from mmdbounds.results import AuditResult
from mmdbounds.words import auditing
from mmdbounds.words.phrases import labellings_used, percent, row_name, rows, shown


class Looked(NamedTuple):
    """A row of the table of what was looked up."""

    how: str
    n: int
    n_found: int


LOOKED_COLUMNS: Columns = (
    ("looked up", lambda looked: looked.how),
    ("rows", lambda looked: f"{looked.n:,}"),
    ("found to be misfiled", lambda looked: f"{looked.n_found:,}"),
)


def audit_part(result: AuditResult, names: RowNames) -> Part:
    """Return what the page of an audit says."""
    x, y = shown(result.name_x), shown(result.name_y)
    every = [
        Looked("in the recorded random order", result.n_random, result.n_found_random),
        Looked("chosen in other ways", result.n_chosen, result.n_found_chosen),
    ]
    looked = Table.of(
        LOOKED_COLUMNS, every, name="looked", caption=f"Rows filed under {y} that were looked up"
    )
    return Part(
        heading="Audit of the records",
        question=f"{x} (X) and {y} (Y): does the difference stand, as far as records were looked up?",
        answer=[auditing.decision(result), auditing.looked_up(result)],
        text=[auditing.how_many(result), *auditing.numbers(result)],
        figures=[_figure(result)],
        tables=[looked, *_next(result, names)],
        notes=[auditing.order(result)],
        assumptions=result.conditions,
        assumed="Right if",
        settings=[
            ("significance level", percent(result.level)),
            ("confidence of the audit", percent(result.audit_level)),
            ("labellings", labellings_used(result)),
        ],
    )


def _next(result: AuditResult, names: RowNames) -> list[Table]:
    """Return the table of the rows to look up next, if there are any; by number unless names may be shown."""
    wanted = len(result.next_rows) and (result.by != "random" or not result.is_decided)
    ids = result.ids_next if names.is_open else None
    body = [
        (
            row_name(
                "Y",
                int(place),
                None if ids is None else str(ids[i]),
                None if result.file_rows_next is None else int(result.file_rows_next[i]),
            ),
            f"{i + 1}",
        )
        for i, place in enumerate(result.next_rows)
    ]
    if not wanted:
        return []
    caption = auditing.next_head(result).rstrip(":")
    return [Table(name="next", caption=caption, head=("row", "order"), body=body)]


def _figure(result: AuditResult) -> Figure:
    """Return how many rows are misfiled as far as is known, and how many it would take."""
    low, high = result.n_misfiled_range
    values = [{"f0": result.n_found, "f1": "found", "f2": f"{result.n_found:,}"}]
    breakdown = result.breakdown_n_moved
    if breakdown is not None:
        it_takes = result.n_found + breakdown
        values.append({"f0": it_takes, "f1": "explains the difference away", "f2": f"{it_takes:,}"})
    axis = f"rows filed under {shown(result.name_y)} that belong to {shown(result.name_x)}"
    words = f"How many rows are misfiled: {low:,} to {high:,}. The same numbers are in the text below."
    spec = charts.interval(
        [{"f0": low, "f1": high, "f2": False}], values, [str(v["f1"]) for v in values], axis, words, zero=True
    )
    caption = (
        f"Band: how many of the {rows(result.n_samples_Y)} are misfiled, with {percent(result.audit_level)} "
        "confidence. The difference stands once the band ends before the number that would explain it away."
    )
    return Figure(name="audit", title="How many rows are misfiled", caption=caption, spec=spec)

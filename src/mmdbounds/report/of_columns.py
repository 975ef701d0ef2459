"""The section about single columns, "Table 1": each one's difference and what misfiling can make of it."""

from __future__ import annotations

from mmdbounds.report import charts
from mmdbounds.report.contents import Figure, Part, Table
from mmdbounds.results import ColumnRow, ColumnTable
from mmdbounds.words import columns
from mmdbounds.words.phrases import assumption, shown

COLUMNS_DRAWN = 30  # the surest; the table has more
COLUMNS_LISTED = 200  # a page must not grow with the data


def columns_part(result: ColumnTable) -> Part:
    """Return what a page says about single columns."""
    order = columns.by_strength(result.rows)
    listed = order[:COLUMNS_LISTED]
    left_out = len(order) - len(listed)
    more = [f"{left_out:,} more columns, whose differences are less sure, are not shown."] if left_out else []
    return Part(
        heading="Column by column",
        answer=[columns.statement(result)],
        text=[assumption(result)],
        figures=[_figure(result)],
        tables=[
            Table(
                name="columns",
                caption=f"Table 1: {shown(result.name_x)} and {shown(result.name_y)}, column by column",
                head=("column", *columns.headings(result)[1:]),
                body=[_cells(row, result) for row in listed],
                notes=[*columns.table_notes(result), *more],
            )
        ],
    )


def _cells(row: ColumnRow, table: ColumnTable) -> tuple[str, ...]:
    """Return a line of the table, with bounds below their values."""
    name, of_x, of_y, *ranges, lost = columns.cells(row, table)
    return name, of_x, of_y, *(each.replace(" (", "\n(") for each in ranges), lost


def _figure(result: ColumnTable) -> Figure:
    drawn = columns.by_strength(result.rows)[:COLUMNS_DRAWN]
    values: charts.Values = [
        {
            "f0": shown(row.name),
            "f1": rank,
            "f2": row.standardised,
            "f3": row.standardised_lower,
            "f4": row.standardised_upper,
            "f5": charts.KEPT if row.keeps_sign else charts.LOST,
            "f6": row.keeps_sign,
            **{f"f{7 + i}": cell for i, cell in enumerate(columns.cells(row, result)[3:])},
        }
        for rank, row in enumerate(drawn)
    ]
    x, y = shown(result.name_x), shown(result.name_y)
    axis = f"standardised difference: mean of {x} less mean of {y}"
    words = "Standardised difference of each column with its bounds. The same numbers are in the table below."
    some = (
        f" The {len(drawn)} surest of {len(result.rows):,} columns." if len(drawn) < len(result.rows) else ""
    )
    caption = (
        "Diamond: as filed. Line: all that the misfiling allows, exact for each column. The table has the "
        f"same in the units of the data.{some}"
    )
    spec = charts.column_differences(values, axis, columns.HEADINGS, words)
    return Figure(name="columns", title="Standardised difference of each column", caption=caption, spec=spec)

"""What a table of columns says."""

from __future__ import annotations

from collections.abc import Sequence

from mmdbounds.results.columns import ColumnRow, ColumnTable
from mmdbounds.words.phrases import (
    assumption,
    capitalised,
    number,
    percent,
    rows,
    shown,
    wrapped,
)

HEADINGS = ("difference", "in deviations", "exceeds", "sign lost at")
COLUMNS_SHOWN = 60  # in a summary; all of them are in the result


def columns_summary(table: ColumnTable) -> str:
    """Return the table in plain words, then the columns, those that keep their sign first."""
    order = by_strength(table.rows)
    some = order[:COLUMNS_SHOWN]
    lines = [headings(table), *(cells(row, table) for row in some)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    # Names to the left, numbers to the right.
    body = [
        "  ".join(
            [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    ]
    left_out = len(table.rows) - len(some)
    more = [f"... and {left_out:,} more columns; `to_frame()` has all of them."] if left_out else []
    return "\n".join(
        [
            wrapped(statement(table)),
            wrapped(assumption(table)),
            "",
            *body,
            *more,
            "",
            *map(wrapped, table_notes(table)),
        ]
    )


def headings(table: ColumnTable) -> tuple[str, ...]:
    """Return the headings of the table, for `cells`."""
    return "", shown(table.name_x), shown(table.name_y), *HEADINGS


def by_strength(every: Sequence[ColumnRow]) -> list[ColumnRow]:
    """Return the columns in the order of what is left of their difference: the largest first."""
    return sorted(every, key=lambda row: (-least_difference(row), -abs(row.standardised)))


def least_difference(row: ColumnRow) -> float:
    """Return the difference, in deviations, that no admissible misfiling takes away; 0 if one does."""
    return max(row.standardised_lower, -row.standardised_upper, 0.0)


def statement(table: ColumnTable) -> str:
    """Say how many columns differ whatever the misfiling, and which of them most."""
    x, y = shown(table.name_x), shown(table.name_y)
    order, n = by_strength(table.rows), len(table.rows)
    kept = [row for row in order if row.keeps_sign]
    if not kept:
        which = "the column's difference" if n == 1 else f"the difference of any of the {n:,} columns"
        return f"The misfiling that was assumed could explain away {which} between {x} and {y}."
    what = "columns and categories" if any(map(_is_category, order)) else "columns"
    columns = "the column" if n == 1 else f"{len(kept):,} of {n:,} {what}"
    first, direction = kept[0], "higher" if kept[0].difference > 0 else "lower"
    least = number(least_difference(first))
    most = f"{': ' if len(kept) == 1 else '; most of all '}{shown(first.name)}"
    what, differ = "share" if first.is_share else "mean", "differs" if len(kept) == 1 else "differ"
    return (
        f"{capitalised(columns)} {differ} between {x} and {y} in the same "
        f"direction whichever rows were misfiled{most}, whose {what} is {direction} in {x} by at least "
        f"{least} standard deviations."
    )


def _is_category(row: ColumnRow) -> bool:
    return row.is_share and "=" in row.name


def best_column(table: ColumnTable) -> str:
    """Say which single column tells the groups apart best, whatever the misfiling; nothing if none does."""

    def surely(row: ColumnRow) -> float:
        return max(row.auc_lower - 0.5, 0.5 - row.auc_upper)

    best = max(table.rows, key=surely)
    if surely(best) <= 0:
        return ""
    x, y = shown(table.name_x), shown(table.name_y)
    higher = best.auc_lower > 0.5
    one, other = (x, y) if higher else (y, x)
    ends = (best.auc_lower, best.auc_upper) if higher else (1 - best.auc_upper, 1 - best.auc_lower)
    filed = best.auc if higher else 1 - best.auc
    return (
        f"In the best single column, {shown(best.name)}, a row of {one} exceeds a row of {other} with a "
        f"probability of {filed:.3g} as filed, and between {ends[0]:.3g} and {ends[1]:.3g} whichever rows "
        "were misfiled (0.5 if the groups do not differ, 1 if they are told apart without error)."
    )


def cells(row: ColumnRow, table: ColumnTable) -> tuple[str, ...]:
    """Return what a line of the table shows."""
    write = percent if row.is_share else number
    lost = "never" if row.sign_lost is None else percent(table.share(row.sign_lost))
    return (
        shown(row.name),
        write(row.mean_x),
        write(row.mean_y),
        _with_bounds(row.difference, row.difference_lower, row.difference_upper, is_share=row.is_share),
        _with_bounds(row.standardised, row.standardised_lower, row.standardised_upper),
        _with_bounds(row.auc, row.auc_lower, row.auc_upper),
        lost,
    )


def _with_bounds(value: float, low: float, high: float, *, is_share: bool = False) -> str:
    if is_share:
        return f"{100 * value:.3g} % ({100 * low:.3g} to {100 * high:.3g})"
    return f"{value:.3g} ({low:.3g} to {high:.3g})"


def table_notes(table: ColumnTable) -> list[str]:
    """Return what the headings mean, and what was done about missing cells."""
    x, y = shown(table.name_x), shown(table.name_y)
    explained = (
        "Each number is as filed, with the smallest and the largest that the misfiling allows in brackets: "
        f"exact, but not all reached by the same rows. Difference: {x} less {y}. In deviations: the "
        "standardised difference, which is divided by the standard deviation over all rows. Exceeds: the "
        f"probability that a row of {x} exceeds one of {y}, ties half. Sign lost at: the share of the true "
        f"{x} rows filed under {y} at which the difference could vanish or change its sign"
        f"{', with no row misfiled the other way' if table.n_moved_of_x else ''}."
    )
    notes = [explained]
    if not all(row.in_units for row in table.rows):
        notes.append("Columns were turned into ranks: means and differences are on the scale of the ranks.")
    if any(table.n_dropped):
        of_x, of_y = table.n_dropped
        notes.append(f"Left out because a cell was missing: {rows(of_x)} of {x} and {rows(of_y)} of {y}.")
    if filled := {row.name.partition("=")[0]: row.n_missing for row in table.rows if row.n_missing}:
        named = ", ".join(f"{shown(name)} {n:,}" for name, n in filled.items())
        notes.append(f"Missing cells that were filled: {named}.")
    return notes

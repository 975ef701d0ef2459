"""What a page says, before it is HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from mmdbounds.report.charts import Spec
from mmdbounds.words.phrases import percent, rows

# The columns of a table: the heading of each, and the function that gives its cell for one item.
Columns = Sequence[tuple[str, Callable[[Any], str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart, with its specification for Vega-Lite; `of_rows`: of single rows, which some shares lack."""

    name: str
    title: str
    caption: str
    spec: Spec
    of_rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table whose first column names its rows; `notes` explain it."""

    caption: str
    head: Sequence[str]
    body: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, columns: Columns, items: Iterable[Any], *, caption: str, notes: Sequence[str] = ()) -> Self:
        """Return a table with a row for each item, without the columns that have nothing to say."""
        body = [[cell(item) for _, cell in columns] for item in items]
        kept = [i for i in range(len(columns)) if any(cells[i] for cells in body)]
        head = [columns[i][0] for i in kept]
        return cls(caption=caption, head=head, body=[[cells[i] for i in kept] for cells in body], notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What depends on the share of misfiled rows: its `share_label`, sentences, and table of single rows."""

    label: str
    sentences: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """All that a page says about a result.

    Attributes
    ----------
    title, answer
        The question; the answer and its converse.
    slider
        What the slider changes; `None` for a page without one.
    moments, start
        What holds at each share, and the share that is shown first.
    figures, table
        The charts, and the main table; with a slider it has one row for each share.
    rows
        The table of single rows without its body, which is in `moments`; `None` if there is none.
    notes
        What else there is to say about the charts.
    assumptions, assumed, remarks
        What the answer rests on, the words before it, and what comes after it.
    settings
        Names and values of what was set.
    """

    title: str
    answer: str
    slider: str | None = None
    moments: Sequence[Moment]
    start: int = 0
    figures: Sequence[Figure]
    table: Table
    rows: Table | None = None
    notes: Sequence[str] = ()
    assumptions: Sequence[str]
    assumed: str = "Valid if"
    remarks: Sequence[str] = ()
    settings: Sequence[tuple[str, str]] = ()


def share_label(epsilon: float, n_moved: int) -> str:
    """Return a share with its number of rows: 9.91 % (21 rows)."""
    return f"{percent(epsilon)} ({rows(n_moved)})"

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
    """All that a page says about a result."""

    title: str  # the question
    answer: str  # and its converse
    slider: str | None = None  # what it changes; `None` for a page without one
    moments: Sequence[Moment]  # what holds at each share
    start: int = 0  # the share that is shown first
    figures: Sequence[Figure]
    table: Table  # with a slider it has one row for each share
    rows: Table | None = None  # the table of single rows without its body, which is in `moments`
    notes: Sequence[str] = ()  # about the charts
    assumptions: Sequence[str]
    assumed: str = "Valid if"  # the words before the assumptions
    remarks: Sequence[str] = ()  # what comes after them
    settings: Sequence[tuple[str, str]] = ()  # names and values


def share_label(epsilon: float, n_moved: int) -> str:
    """Return a share with its number of rows: 9.91 % (21 rows)."""
    return f"{percent(epsilon)} ({rows(n_moved)})"

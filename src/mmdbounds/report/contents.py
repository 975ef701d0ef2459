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

    name: str  # of the element
    caption: str
    head: Sequence[str]
    body: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, columns: Columns, items: Iterable[Any], **about: Any) -> Self:
        """Return a table with a row for each item, without the columns that have nothing to say."""
        body = [[cell(item) for _, cell in columns] for item in items]
        kept = [i for i in range(len(columns)) if any(cells[i] for cells in body)]
        head = [columns[i][0] for i in kept]
        return cls(head=head, body=[[cells[i] for i in kept] for cells in body], **about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What depends on the share of misfiled rows: its `share_label`, sentences, and table of single rows."""

    share: float
    label: str
    sentences: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """All that a page says about one result: a section, and its part of what stands around the sections."""

    heading: str
    question: str = ""  # the title of a page whose first part this is
    answer: Sequence[str] = ()  # and its converse, a paragraph each; it stands at the top of the page
    text: Sequence[str] = ()  # more of it, in the section
    slider: str | None = None  # what it changes; `None` for a part without one
    moments: Sequence[Moment] = ()  # what holds at each share
    start: int = 0  # the share that is shown first
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    rows: Table | None = None  # the table of single rows without its body, which is in `moments`
    notes: Sequence[str] = ()  # about the charts
    assumptions: Sequence[str] = ()
    assumed: str = "Valid if"  # the words before the assumptions
    remarks: Sequence[str] = ()  # what comes after them
    settings: Sequence[tuple[str, str]] = ()  # names and values


def share_label(epsilon: float, n_moved: int) -> str:
    """Return a share with its number of rows: 9.91 % (21 rows)."""
    return f"{percent(epsilon)} ({rows(n_moved)})"

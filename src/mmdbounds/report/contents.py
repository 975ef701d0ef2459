"""What a page says, before it is HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mmdbounds.report.charts import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture with its caption.

    Attributes
    ----------
    name
        Of the element on the page.
    title, caption
        What it shows, in a few words and in full.
    spec
        For Vega-Lite.
    of_rows
        Whether it shows single rows, which some shares have none of.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What changes with the share of misfiled rows.

    Attributes
    ----------
    label
        The share and the number of rows.
    said
        What holds there, a sentence or more each.
    rows
        The table of single rows.
    """

    label: str
    said: Sequence[str]
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """All that a page says of a result.

    Attributes
    ----------
    title
        The question.
    answer
        The answer and its converse.
    slider
        What the slider changes; `None` for a page without one.
    moments, start
        What holds at each share, and the share that is shown first.
    figures, table
        The pictures, and the main table; with a slider it has one row for each share.
    rows
        Heading of the table of single rows, `None` if there is none; its body is in `moments`.
    notes
        What else is to be said of the pictures.
    assumptions, assumed
        What the answer rests on, and the words before it.
    remarks
        What is to be said after it.
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
    assumptions: Sequence[str] = ()
    assumed: str = "Valid if"
    remarks: Sequence[str] = ()
    settings: Sequence[tuple[str, str]] = ()

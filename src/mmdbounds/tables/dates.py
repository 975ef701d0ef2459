"""Dates become numbers of days, counted from a day that is the same for every table."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.tables.reading import Trouble

REFERENCE = datetime.datetime(2000, 1, 1)
_DAY = datetime.timedelta(days=1)
_DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})([ T].*)?")
_TIME = r"(?:[ T](?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?Z?)?"
_YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})[-/.](?P<first>\d{{1,2}})[-/.](?P<last>\d{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(
    rf"(?P<first>\d{{1,2}})(?P<mark>[-/.])(?P<last>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}){_TIME}"
)
ADVICE = "set `dates=` to 'days' to count days, or to 'drop' to leave dates out"
REFUSED = Trouble("dates or times", ADVICE, ("dates", "days"))
REFUSED_TEXT = Trouble("text, dates", ADVICE, ("dates", "days"))
TIMES_OF_DAY = Trouble("times of day", "set `dates=` to 'drop' to leave them out", ("dates", "drop"))
_UNREADABLE = Trouble(
    "dates that cannot be read", "write them as 2020-12-31, or set `dates=` to 'drop'", ("dates", "drop")
)
_DOUBTFUL = Trouble(
    "dates in which day and month cannot be told apart",
    "set `dates=` to 'day-first' or 'month-first'",
    ("dates", "day-first"),
)


def are_dates(names: Collection[str]) -> bool:
    """Tell whether every one of these texts looks like a date."""
    return bool(names) and all(_DATE.fullmatch(name) for name in names)


def as_days(cells: Sequence[Any], dates: str) -> tuple[NDArray[np.float64], Trouble | None]:
    """Return how many days each cell is after the reference, NaN where it is missing, and what is against it.

    Cells are dates, times or text; those of durations are as many days as they last. Of text in which the
    year comes last, `dates` or a day after the twelfth says whether the day or the month comes first.
    """
    present = {cell for cell in cells if cell is not None}
    texts = [cell for cell in present if isinstance(cell, str)]
    order = _order(texts, dates) if texts else "day-first"
    nothing = np.full(len(cells), np.nan)
    if isinstance(order, Trouble):
        return nothing, order
    days: dict[Any, float] = {None: np.nan}
    for cell in present:
        moment = _moment(cell, order)
        if moment is None:
            return nothing, TIMES_OF_DAY if isinstance(cell, datetime.time) else _UNREADABLE
        days[cell] = (moment if isinstance(moment, datetime.timedelta) else moment - REFERENCE) / _DAY
    return np.array([days[cell] for cell in cells]), None


def _order(texts: Sequence[str], dates: str) -> str | Trouble:
    """Return whether the day or the month comes first where the year comes last."""
    found = [match for text in texts if (match := _YEAR_LAST.fullmatch(text))]
    if dates in ("day-first", "month-first") or not found:
        return dates
    day_first = any(match["mark"] == "." or int(match["first"]) > 12 for match in found)
    month_first = any(match["mark"] != "." and int(match["last"]) > 12 for match in found)
    if day_first and month_first:
        return _UNREADABLE
    return "day-first" if day_first else "month-first" if month_first else _DOUBTFUL


def _moment(cell: Any, order: str) -> datetime.datetime | datetime.timedelta | None:
    """Return what a cell says, in UTC if it names a time zone; `None` if it cannot be read."""
    if isinstance(cell, datetime.datetime):
        return cell if cell.tzinfo is None else cell.astimezone(datetime.UTC).replace(tzinfo=None)
    if isinstance(cell, datetime.date):
        return datetime.datetime(cell.year, cell.month, cell.day)
    if isinstance(cell, str):
        return _written_moment(cell, order)
    return cell if isinstance(cell, datetime.timedelta) else None


def _written_moment(cell: str, order: str) -> datetime.datetime | None:
    """Return what a text says; `None` if it cannot be read."""
    year_first = _YEAR_FIRST.fullmatch(cell)
    found = year_first or _YEAR_LAST.fullmatch(cell)
    if found is None:
        return None
    month, day = int(found["first"]), int(found["last"])
    if not year_first and order == "day-first":
        month, day = day, month
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    try:
        return datetime.datetime(int(found["year"]), month, day, hour, minute, second)
    except ValueError:  # the 31st of June
        return None

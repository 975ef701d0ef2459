"""The sentences about bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mmdbounds.results import Bound, BoundsResult, Provenance, Side
from mmdbounds.words.odds import range_finding
from mmdbounds.words.phrases import (
    assumption,
    named_rows,
    number,
    others,
    percent,
    proved_number,
    row_name,
    rows,
    seed_used,
    settings,
    shown,
    statistic,
    wrapped,
)

TOP_ROWS = 3  # rows named as those to check first; all of them are in `row_table`

LARGE_GAP = 0.01
"""A gap between the proved and the attained value, as a share of the width, that is put into words."""

MISSED = 1e-3
"""An exchange that improves on a labelling by more, relative to the largest effect, is one too many."""

ROUNDING = 1e-9  # values that differ by less, relative to the largest of them, differ by rounding only

CROSSED = "The two sides cross: the lower value is above the upper one, so nothing lies between them."
"""They stay as they were found: in the wrong order they say that the search failed."""

RESIZED = (
    "These are the paper's printed quantile steps: they move another number of rows than were misfiled, so "
    "the values below bound nothing."
)

UNPROVED = {
    "labelling": "nothing proved",
    "resized labelling": "",
    "weights": "not proved",
}
"""What is said of a value without a proof, by its kind."""

EXTREME = {"lower": "smallest", "upper": "largest"}
FURTHER = {"lower": "a smaller value", "upper": "a larger value"}


def finding(result: BoundsResult) -> str:
    """Say what follows, and its converse."""
    kinds = {result.lower.kind, result.upper.kind}
    if not (result.n_moved or result.n_moved_of_x):
        return f"Nothing is misfiled, so the {statistic(result)} is {number(result.observed)}."
    if result.odds is not None:
        return range_finding(result)
    if "resized labelling" in kinds:
        return " ".join([RESIZED, *([CROSSED] if result.is_crossed else [])])
    if result.is_crossed:
        return f"{CROSSED} Labellings reach both; method='sharp' searches further."
    more = f"If {others(result)} rows are misfiled, it can"
    return " ".join([_statement(result), *_gaps(result), f"{more} {_converse(result)}."])


def _statement(result: BoundsResult) -> str:
    """Say between which values the truth is, and whether that is proved; each side apart if one alone is."""
    low, high = ends(result)
    filed = f"as filed it is {number(result.observed)}."
    for proved, other in ((result.lower, result.upper), (result.upper, result.lower)):
        if proved.certified is not None and other.certified is None:
            limit = " ".join(_limit(proved.certified, proved.side))
            return (
                f"Whichever rows they are, the {statistic(result)} of the true groups is {limit} (proved); "
                f"{filed} "
                f"The {EXTREME[other.side]} value found is {number(other.value)}: a labelling reaches it, "
                f"but that none gives {FURTHER[other.side]} is not proved."
            )
    if result.is_certified:
        return (
            f"Whichever rows they are, the {statistic(result)} of the true groups is between "
            f"{low} and {high} (proved); {filed}"
        )
    return (
        f"Depending on which rows they are, the {statistic(result)} of the true groups can be as small as "
        f"{low} or as large as {high}; {filed} "
        "Labellings reach both values; that none lies beyond them is not proved."
    )


def _converse(result: BoundsResult) -> str:
    proved = [b.certified is not None for b in (result.lower, result.upper)]
    if proved == [True, False]:
        return "be smaller"
    return "be larger" if proved == [False, True] else "lie outside this range"


def ends(result: BoundsResult) -> tuple[str, str]:
    """Return both ends of `BoundsResult.interval` in digits: proved ones are true as they are printed."""
    low, high = result.interval
    if result.is_certified:
        return proved_number(low, "lower"), proved_number(high, "upper")
    return number(low), number(high)


def _limit(value: float, side: Side) -> tuple[str, str]:
    """Return a proved value in words: ``at least``, ``0.1``."""
    return "at least" if side == "lower" else "at most", proved_number(value, side)


def _gaps(result: BoundsResult) -> list[str]:
    """Say for each side whose proof is far from what a labelling reaches how far it is."""
    sentences = []
    for bound in (result.lower, result.upper):
        if bound.certified is None or bound.gap is None or _equality(bound, result) is not None:
            continue
        if bound.gap > LARGE_GAP * result.width > 0:
            values = [proved_number(bound.certified, bound.side), number(bound.value)]
            between = " and ".join(values if bound.side == "lower" else reversed(values))
            gap = f"a gap of {percent(bound.gap / result.width)} of the width"
            sentences.append(f"The {EXTREME[bound.side]} possible value is between {between}, {gap}.")
    return sentences


def _equality(bound: Bound, result: BoundsResult) -> str | None:
    """Say how the proved and the attained value are equal: to the digits shown, or up to rounding ("")."""
    if bound.certified is None or bound.gap is None:
        return None
    if bound.gap <= ROUNDING * _size(result):
        return ""
    digits = proved_number(bound.certified, bound.side)
    alike = digits == number(bound.value) and bound.gap <= LARGE_GAP * result.width
    return " (to the digits shown)" if alike else None


def _size(result: BoundsResult) -> float:
    return max(result.width, abs(result.lower.value), abs(result.upper.value))


def side_lines(bound: Bound, result: BoundsResult) -> list[str]:
    """Return the lines of the table for one side."""
    lines = [wrapped(_value_line(bound, result), "  ")]
    for name, letter, places, ids, file_rows in (
        (result.name_y, "Y", bound.rows, bound.ids, bound.file_rows),
        (result.name_x, "X", bound.rows_of_x, bound.ids_of_x, bound.file_rows_of_x),
    ):
        if len(places):
            named = named_rows(letter, places, ids, file_rows)
            lines.append(wrapped(f"moves {rows(len(places))} filed under {shown(name)}: {named}", "    "))
    return lines


def _value_line(bound: Bound, result: BoundsResult) -> str:
    """Return the value of one side: proved and reached, proved and not quite reached, or only found."""
    extreme, further = EXTREME[bound.side], FURTHER[bound.side]
    if bound.certified is None:
        return _cells(
            f"{extreme} found", number(bound.value), "  " + _joined(bound.status, UNPROVED[bound.kind])
        )
    equal = _equality(bound, result)
    if equal is not None:
        none = "no such odds give" if bound.kind == "weights" else "no labelling gives"
        text = "  " + _joined(f"proved: {none} {further}{equal}", bound.status)
        # Rounded as in the sentence above the table, so that both show the same digits.
        return _cells(extreme, proved_number(bound.certified, bound.side), text)
    reach = "such odds reach" if bound.kind == "weights" else "a labelling reaches"
    text = _joined("(proved)", f"{reach} {number(bound.value)}", bound.status)
    return _cells(*_limit(bound.certified, bound.side), text)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _cells(word: str, value: str, text: str) -> str:
    return f"{word:<16}{value:>12} {text}".rstrip()


def top_rows(result: BoundsResult) -> str:
    """Name the rows to check first, if no exchange improves the labelling of the lower bound much."""
    if result.lower.effects is None and result.lower.effects_of_x is None:
        return ""
    table = result.row_table()
    change = table["lower_change"]
    known = int(np.count_nonzero(~np.isnan(change)))
    if known == 0 or np.nanmax(-change) > MISSED * abs(change[0]) or not change[0]:
        return ""
    names = [_row_name(table, i, result) for i in range(min(known, TOP_ROWS))]
    who = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    single = len(names) == 1
    known_of = "its true group" if single else "the true group of one of them"
    rise, lower = number(change[0]), result.lower
    if lower.certified is not None:  # the proved bound can come up to where the value then is
        rise = proved_number(change[0] + (lower.value - lower.certified), "upper")
    return (
        f"Row{'' if single else 's'} to check first: {who}. Knowing {known_of} can raise the lower bound "
        f"by up to {rise} (`row_table()` lists all rows in this order). "
        f"{'It' if single else 'They'} need not be misfiled."
    )


def _row_name(table: Mapping[str, Any], i: int, result: BoundsResult) -> str:
    letter = "Y" if table["group"][i] == result.name_y else "X"
    return row_name(letter, table["row"][i], table["id"][i], table["file_row"][i])


def _options_used(made: Provenance) -> dict[str, Any]:
    """Return the options that made a difference; an even schedule weighs nothing."""
    unused = ("weights",) if made.options.get("schedule") == "even" else ()
    return {k: v for k, v in made.options.items() if v is not None and k not in unused}


def bounds_summary(result: BoundsResult) -> str:
    """Return a `BoundsResult` in plain words."""
    made = result.provenance
    options = ", ".join(f"{name}={value}" for name, value in _options_used(made).items())
    method = f"Method {made.method}{f' ({options})' if options else ''}"
    lines = [wrapped(text) for text in (assumption(result), finding(result)) if text] + [""]
    moved = bool(result.n_moved or result.n_moved_of_x)
    lines += side_lines(result.lower, result) if moved else []
    lines.append("  " + _cells("as filed", number(result.observed), ""))
    lines += side_lines(result.upper, result) if moved else []
    top = top_rows(result)
    last = wrapped(settings(made, method, seed_used(made)))
    return "\n".join([*lines, "", *([wrapped(top), ""] if top else []), last])

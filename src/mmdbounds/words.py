"""The sentences, written once: for `summary()`, the command line and the report.

Plain words first, numbers second, settings last. A value that a labelling reaches and a value
that is proved are never called by the same word.
"""

from __future__ import annotations

import decimal
import textwrap
from typing import Any

from numpy.typing import NDArray

from mmdbounds.results import Bound, BoundsResult, Provenance, Side

ROWS_NAMED = 8
"""Rows named in a summary; all of them are in the result."""

WIDTH = 100
"""Columns of a line; tables are not wrapped."""

LONGEST_NAME = 60
"""Characters of a group's or row's name that are shown."""


def percent(share: float) -> str:
    """Return a share as people write it: 20 %, 3.5 %, 0.12 %."""
    return f"{100 * share:.3g} %"


def number(value: float) -> str:
    """Return a value with four significant digits."""
    return f"{value:.4g}"


def proved_number(value: float, side: Side) -> str:
    """Return a proved bound with four significant digits, rounded away from the interval: still proved."""
    rounding = decimal.ROUND_FLOOR if side == "lower" else decimal.ROUND_CEILING
    return number(float(decimal.Context(prec=4, rounding=rounding).create_decimal_from_float(value)))


def rows(count: int) -> str:
    """Return ``1 row`` or ``7 rows``."""
    return f"{count:,} row{'' if count == 1 else 's'}"


def wrapped(text: str, indent: str = "") -> str:
    """Return a sentence in lines of at most `WIDTH` columns, all but the first indented further."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  " if indent else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def shown(name: object) -> str:
    """Return a name from the data on one line, without control characters and of bounded length."""
    text = str(name)
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 3] + "..."
    return text if text.isprintable() else repr(text)


def assumption(result: BoundsResult) -> str:
    """Say back what was understood."""
    x, y = shown(result.name_x), shown(result.name_y)
    how, share, count = _how(result), percent(result.epsilon), f"{result.n_moved:,}"
    if how == "between" and result.n_moved_range is not None:
        fewest = result.n_moved_range[0]
        share = f"{percent(fewest / (result.n_samples_X + fewest))} and {share}"
        count = f"{fewest:,} to {count}"
    of_y = f"{count} of the {result.n_samples_Y:,} filed under {y}"
    one_way = f"{how} {share} of the true {x} rows, {of_y}, are misfiled"
    if not result.n_moved_of_x:
        return f"Assumed: {one_way}."
    of_x = f"{result.n_moved_of_x:,} of the {result.n_samples_X:,} filed under {x}"
    return f"Assumed: {one_way}; {how} {of_x} belong{'s' if result.n_moved_of_x == 1 else ''} to {y}."


def _how(result: BoundsResult) -> str:
    if result.at_most:
        return "up to"
    return "exactly" if result.n_moved_range is None else "between"


def finding(result: BoundsResult) -> str:
    """Say what follows, and its converse."""
    if not (result.n_moved or result.n_moved_of_x):
        return f"Nothing is misfiled, so the squared MMD is {number(result.observed)}."
    if any(b.kind == "resized labelling" for b in (result.lower, result.upper)):
        return (
            "These are the paper's printed quantile steps: they move another number of rows than were "
            "misfiled, so the values below bound nothing."
        )
    if result.lower.value > result.upper.value and not result.is_certified:
        return (
            "The two sides cross: the smallest value found is above the largest. The search found no "
            "interval; give it more steps."
        )
    more = "more" if result.at_most else "more or fewer"
    converse = f"If {more} rows are misfiled, it can lie outside this range."
    low, high = result.interval
    filed = f"as filed it is {number(result.observed)}."
    if result.is_certified:
        return (
            "Whichever rows they are, the squared MMD of the true groups is between "
            f"{proved_number(low, 'lower')} and {proved_number(high, 'upper')} (proved); {filed} {converse}"
        )
    return (
        "Depending on which rows they are, the squared MMD of the true groups can be as small as "
        f"{number(low)} or as large as {number(high)}; {filed} "
        f"Labellings reach both values; that none lies beyond them is not proved. {converse}"
    )


def side_lines(bound: Bound, name_x: str, name_y: str) -> list[str]:
    """Return the lines of the table for one side."""
    word = "smallest found" if bound.side == "lower" else "largest found"
    proved = "" if bound.certified is None else f"   proved: {proved_number(bound.certified, bound.side)}"
    lines = [f"  {word:<16}{number(bound.value):>12}{proved}   {bound.status}".rstrip()]
    for name, letter, places, ids, file_rows in (
        (name_y, "Y", bound.rows, bound.ids, bound.file_rows),
        (name_x, "X", bound.rows_of_x, bound.ids_of_x, bound.file_rows_of_x),
    ):
        if len(places):
            named = named_rows(letter, places, ids, file_rows)
            lines.append(wrapped(f"moves {rows(len(places))} filed under {shown(name)}: {named}", "    "))
    return lines


def named_rows(
    letter: str, places: NDArray[Any], ids: NDArray[Any] | None, file_rows: NDArray[Any] | None
) -> str:
    """Name the first few rows that move: by id, row in the file, or place in X or Y."""
    names = []
    for i in range(min(len(places), ROWS_NAMED)):
        place = f"{letter}[{places[i]}]" if file_rows is None else f"row {file_rows[i]}"
        if ids is None:
            names.append(place)
        else:
            names.append(shown(ids[i]) if file_rows is None else f"{shown(ids[i])} ({place})")
    rest = len(places) - len(names)
    return ", ".join(names) + (f" and {rest:,} more" if rest else "")


def settings(result: BoundsResult) -> str:
    """Return the settings in one sentence."""
    made = result.provenance
    options = ", ".join(f"{name}={value}" for name, value in _options_used(made).items())
    length = "" if made.bandwidth is None else f", bandwidth {made.bandwidth:.6g}"
    seconds = f"{made.seconds:.2g}" if made.seconds < 10 else f"{made.seconds:,.0f}"
    return (
        f"Method {made.method}{f' ({options})' if options else ''}; kernel {made.kernel}{length}; "
        f"{made.estimator} estimator; {made.dtype}, {made.backend} on {made.device}; "
        f"{made.n_pairs:,} kernel values in {seconds} s; mmdbounds {made.version}."
    )


def _options_used(made: Provenance) -> dict[str, Any]:
    """Return the options that made a difference; an even schedule weighs nothing."""
    unused = ("weights",) if made.options.get("schedule") == "even" else ()
    return {k: v for k, v in made.options.items() if v is not None and k not in unused}


def bounds_summary(result: BoundsResult) -> str:
    """Return a `BoundsResult` in plain words."""
    lines = [wrapped(assumption(result)), wrapped(finding(result)), ""]
    names = result.name_x, result.name_y
    moved = bool(result.n_moved or result.n_moved_of_x)
    lines += side_lines(result.lower, *names) if moved else []
    lines.append(f"  {'as filed':<16}{number(result.observed):>12}")
    lines += side_lines(result.upper, *names) if moved else []
    return "\n".join([*lines, "", wrapped(settings(result))])

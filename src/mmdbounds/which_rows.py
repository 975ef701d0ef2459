"""Which rows may be misfiled, as a user states it for `Contamination`: masks, strata and limits, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mmdbounds.checks import is_number, is_whole
from mmdbounds.errors import DataError, MmdBoundsError, quoted, shown_value
from mmdbounds.tables.by_row import ByRow
from mmdbounds.tables.group_column import as_text
from mmdbounds.tables.text_numbers import is_missing

Pair = tuple[ByRow | None, ByRow | None]  # for the rows of X, and of Y; None where nothing is said
Limit = int | float  # a number of rows, or a share of a stratum's rows

SLACK = 1e-9  # added before rounding down: a tenth of 30 rows is 3, not 2


def check_may_move(value: Any, name: str = "may_move") -> str | Pair | None:
    """Return the name of a column, or masks for X and for Y; one mask alone is for Y."""
    return _for_both(value, name, "a mask", _flags)


def check_strata(value: Any, name: str = "strata") -> str | Pair | None:
    """Return the name of a column, or the strata of the rows of X and of Y as texts, "" where missing."""
    return _for_both(value, name, "the stratum of each row", _labels)


def _for_both(value: Any, name: str, what: str, convert: Callable[[ByRow, str], ByRow]) -> str | Pair | None:
    if value is None or isinstance(value, str):
        return value
    pair = value if is_pair(value) else (None, value)
    names = (f"{name}[0]", f"{name}[1]") if pair is value else (name, name)
    wanted = f"must be {what}, for the rows of `Y` or as a pair (for `X`, for `Y`)"
    both = [
        None if part is None else convert(ByRow.of(part, f"`{each}` {wanted}"), each)
        for part, each in zip(pair, names, strict=True)
    ]
    return None if both == [None, None] else (both[0], both[1])


def is_pair(value: Any) -> bool:
    """Tell a pair (for X, for Y) from one list of two entries, for Y alone."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    return all(part is None or isinstance(part, ByRow) or _is_list(part) for part in value)


def _is_list(part: Any) -> bool:
    return hasattr(part, "__len__") and not isinstance(part, str)


def _flags(given: ByRow, name: str) -> ByRow:
    if not all(isinstance(each, bool) for each in given.entries):
        wrong = next(each for each in given.entries if not isinstance(each, bool))
        msg = f"`{name}` must be True or False for each row; got {shown_value(wrong)}."
        raise DataError(msg)
    return given


def _labels(given: ByRow, name: str) -> ByRow:
    texts = tuple(map(as_text, given.entries))
    return replace(given, entries=tuple("" if is_missing(text, ()) else text for text in texts))


def check_limits(value: Any) -> dict[str, Limit] | None:
    """Return the limit of each stratum that has one, by its name as text."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not value:
        came = "an empty dict" if isinstance(value, Mapping) else type(value).__name__
        msg = f"`limits` must be a dict such as {{'site A': 5, 'site B': 0.1}}; got {came}."
        raise MmdBoundsError(msg)
    limits = {as_text(stratum): _check_limit(limit, stratum) for stratum, limit in value.items()}
    if len(limits) < len(value):
        msg = f"`limits` must name each stratum once; got {', '.join(map(shown_value, value))}."
        raise MmdBoundsError(msg)
    return limits


def _check_limit(limit: Any, stratum: Any) -> Limit:
    """Return a number of rows (whole) or a share of the stratum's rows (below 1)."""
    if is_whole(limit) and limit >= 0:
        return int(limit)
    if is_number(limit) and not is_whole(limit) and 0 <= float(limit) < 1:
        return float(limit)
    wanted = "a number of rows (5) or a share of its rows (0.1)"
    hint = ""
    if is_number(limit) and float(limit) == 1:
        hint = " For one row write 1; where all rows may be misfiled, leave the stratum out."
    elif is_number(limit) and float(limit) > 1 and float(limit).is_integer():
        hint = f" Did you mean {int(limit)}?"
    msg = f"the limit of {quoted(as_text(stratum))} must be {wanted}; got {shown_value(limit)}.{hint}"
    raise MmdBoundsError(msg)


def limit_in_rows(limit: Limit, n_rows: int) -> int:
    """Return how many of a stratum's rows may be misfiled."""
    return limit if isinstance(limit, int) else math.floor(limit * n_rows + SLACK)

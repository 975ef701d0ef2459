"""Which columns of a table are features, by the names that a user gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from mmdbounds.errors import DataError
from mmdbounds.tables.phrases import listed, nearest, option, option_names, shown


def known_column(name: Any, names: Collection[str], asked_by: str) -> str:
    """Return the name if there is such a column, or suggest the nearest."""
    text = str(name)
    if text not in names:
        there = listed([shown(each) for each in names], 10)
        msg = (
            f"there is no column {shown(text)}, asked for with {asked_by}."
            f"{nearest(text, names)} The columns are {there}."
        )
        raise DataError(msg)
    return text


def choose_features(
    names: Collection[str], taken: Mapping[str, str], columns: Any, left_out: Collection[str]
) -> list[str]:
    """Return the names of the feature columns.

    Parameters
    ----------
    names
        All columns of the table.
    taken
        Columns that hold something else, and what that is.
    columns
        The features that were asked for, `None` for all that are left.
    left_out
        Columns that are to be left out.
    """
    left_out = frozenset(left_out)
    if columns is None:
        features = [name for name in names if name not in left_out and name not in taken]
    else:
        features = [known_column(name, names, option("columns")) for name in option_names(columns, "columns")]
        twice = (name for name, n in Counter(features).items() if n > 1)
        kept_out = {
            **taken,
            **dict.fromkeys(left_out, f"also in {option('exclude')}"),
            **dict.fromkeys(twice, "there twice"),
        }
        for name in features:
            if name in kept_out:
                msg = f"{option('columns')} names {shown(name)}, which is {kept_out[name]}."
                raise DataError(msg)
    if not features:
        msg = f"no feature columns are left. Check {option('columns')} and {option('exclude')}."
        raise DataError(msg)
    return features


def excluded(exclude: Any, names: Collection[str]) -> list[str]:
    """Return the columns to leave out, each only if there is such a column."""
    given = [known_column(name, names, option("exclude")) for name in option_names(exclude, "exclude")]
    return list(dict.fromkeys(given))

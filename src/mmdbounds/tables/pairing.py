"""Where X meets Y: their columns must be the same ones, matched by name, and on the same scale."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables.arrays import as_group
from mmdbounds.tables.group import Group
from mmdbounds.tables.phrases import counted, listed, shown

Order = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """What tells which columns a group has.

    Attributes
    ----------
    n_columns
        How many they are.
    columns
        Their names, `None` for arrays.
    scaling
        What `groups` did to each of them, by name; nothing where it left them as they are.
    """

    n_columns: int
    columns: tuple[str, ...] | None = None
    scaling: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, group: Group) -> Identity:
        """Return the identity of a group's columns."""
        return cls(group.shape[1], group.columns, group.record.get("scaling", {}))


def as_groups(X: Any, Y: Any, arguments: tuple[str, str] = ("X", "Y")) -> tuple[Group, Group]:
    """Return `X` and `Y` as groups with the same columns in the same order, that of `X`.

    Parameters
    ----------
    X, Y
        What `as_group` takes. Columns with names on both sides are matched by name; if one side is an
        array, by position.
    arguments
        Names of the two arguments, for the messages.

    Raises
    ------
    DataError
        If one of them is no group of rows, if their columns differ, or if `groups` scaled them differently.
    """
    x, y = as_group(X, arguments[0]), as_group(Y, arguments[1])
    order = column_order(Identity.of(x), Identity.of(y), arguments)
    if order is not None:
        y = dataclasses.replace(y, values=y.values[:, order], columns=x.columns)
    return x, y


def column_order(x: Identity, y: Identity, arguments: tuple[str, str] = ("X", "Y")) -> Order | None:
    """Return where in Y the columns of X are, `None` if they are in their places; refuse other columns.

    This is the one place that decides whether two groups have the same columns.
    """
    both = " and ".join(f"`{name}`" for name in arguments)
    if x.columns is None or y.columns is None:
        if x.n_columns != y.n_columns:
            msg = (
                f"{both} must have the same columns; got {x.n_columns} and {y.n_columns}. "
                "Each must be an array of shape (rows, columns)."
            )
            raise DataError(msg)
        return None
    if x.columns != y.columns and (differing := _differing(x.columns, y.columns, arguments)):
        msg = (
            f"{both} must have the same columns; {differing}. Rename them or leave them out. "
            "To match columns by position, pass arrays."
        )
        raise DataError(msg)
    _check_scaling(x, y, arguments)
    if x.columns == y.columns:
        return None
    place = {name: j for j, name in enumerate(y.columns)}
    return np.array([place[name] for name in x.columns], dtype=np.intp)


def _differing(of_x: Sequence[str], of_y: Sequence[str], arguments: tuple[str, str]) -> str:
    """Say which columns only one side has; nothing if both have the same ones."""
    in_x, in_y = set(of_x), set(of_y)
    only = [[name for name in of_x if name not in in_y], [name for name in of_y if name not in in_x]]
    parts = [
        f"only `{argument}` has {listed([shown(name) for name in names])}"
        for argument, names in zip(arguments, only, strict=True)
        if names
    ]
    return " and ".join(parts)


def _check_scaling(x: Identity, y: Identity, arguments: tuple[str, str]) -> None:
    """Refuse columns that `groups` scaled in one call for X and in another one for Y."""
    names = x.columns or ()
    other = [name for name in names if x.scaling.get(name) != y.scaling.get(name)]
    if not other:
        return
    which = f"{counted(len(other), 'column')}: {listed([shown(name) for name in other])}"
    if x.scaling and y.scaling:
        how = f"`{arguments[0]}` and `{arguments[1]}` were scaled over different rows in {which}"
    else:
        scaled, plain = arguments if x.scaling else arguments[::-1]
        how = f"`{scaled}` was scaled by `groups` and `{plain}` was not, in {which}"
    msg = f"{how}. Call `groups` once, on one table with all rows, or use scale='none' in both calls."
    raise DataError(msg)

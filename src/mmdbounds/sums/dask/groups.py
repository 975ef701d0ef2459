"""Dask arrays and DataFrames become groups: computed once, checked where they lie, cut into blocks.

Rows that fit a small part of the budget are fetched, and all goes on as with any array. Others stay on the
workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.sums import plan
from mmdbounds.sums.dask.client import Future, check_workers, is_collection, result_of, send, stacked, submit
from mmdbounds.sums.dask.rows import DaskRows, block_rows, can_be_fetched
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import Group, Identity, as_group, column_order


class ClusterGroup(Group):
    """A group whose rows stay on the workers; `values` is a `DaskRows`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        self._check_lengths()


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of a part of a group: its shape and its names."""

    n_rows: int
    n_columns: int
    columns: tuple[str, ...] | None
    ids: NDArray[np.str_] | None


@dataclass(frozen=True, eq=False)
class Parts:
    """A group in the parts in which it came.

    Attributes
    ----------
    values
        One future for each part, an array of rows.
    lengths
        Rows of each part.
    n_columns
        Columns of all of them.
    fields
        What else a `Group` has.
    """

    values: list[Future]
    lengths: list[int]
    n_columns: int
    fields: dict[str, Any]

    @property
    def n_rows(self) -> int:
        """Rows in all."""
        return sum(self.lengths)

    @property
    def identity(self) -> Identity:
        """Which columns they are."""
        return Identity(
            self.n_columns, self.fields["columns"], self.fields.get("record", {}).get("scaling", {})
        )


def cluster_groups(X: Any, Y: Any, client: Any, working_memory: float) -> tuple[Group, Group, Float64s]:
    """Return the groups and their pooled rows, one of `X` and `Y` at the least being a Dask collection."""
    check_workers(client)
    given = {"X": X, "Y": Y}
    for argument, data in given.items():
        if is_collection(data):
            given[argument] = checked_collection(data, argument)
    # Together: what the two have in common, such as a table of both, is computed once.
    lazy = [argument for argument in given if is_collection(given[argument])]
    given |= dict(zip(lazy, client.persist([given[argument] for argument in lazy]), strict=True))
    x, y = (_parts(client, data, argument) for argument, data in given.items())
    order = column_order(x.identity, y.identity)
    if order is not None:
        moved = [submit(client, reordered, part, order) for part in y.values]
        y = replace(y, values=moved, fields={**y.fields, "columns": x.fields["columns"]})
    if can_be_fetched(x.n_rows + y.n_rows, x.n_columns, working_memory):
        group_x, group_y = (Group(stacked(result_of(each.values)), **each.fields) for each in (x, y))
        return group_x, group_y, np.concatenate([group_x.values, group_y.values])
    rows = _blocks(client, x, y, working_memory)
    group_x = ClusterGroup(cast("Float64s", rows.part(0, x.n_rows)), **x.fields)
    group_y = ClusterGroup(cast("Float64s", rows.part(x.n_rows, len(rows))), **y.fields)
    return group_x, group_y, cast("Float64s", rows)


def checked_collection(data: Any, argument: str) -> Any:
    """Refuse, before anything is computed, what cannot be rows of numbers; return it with whole rows."""
    if hasattr(data, "_meta_nonempty") and getattr(data, "ndim", 0) == 2:
        as_group(data._meta_nonempty, argument)  # two made-up rows of the same types
        return data
    if not (hasattr(data, "chunks") and hasattr(data, "rechunk")):
        msg = f"`{argument}` must be a Dask array or DataFrame; got {type(data).__name__}."
        raise DataError(msg)
    if data.ndim != 2:
        shape = tuple(1 if np.isnan(n) else n for n in data.shape)
        as_group(np.broadcast_to(0.0, shape), argument)  # says what is wrong with the shape
    as_group(np.ones((1, 1), dtype=data.dtype), argument)  # and with the type
    return data.rechunk({1: -1}) if data.numblocks[1] > 1 else data


def _parts(client: Any, data: Any, argument: str) -> Parts:
    """Return a group in parts, checked."""
    if not is_collection(data):
        group = as_group(data, argument)
        kept = ("name", "ids", "file_rows", "columns", "record")
        fields = {name: getattr(group, name) for name in kept}
        spans = plan.strips([0, len(group)], plan.BLOCK_ROWS * 32)
        values = [send(client, group.values[i:j]) for i, j in spans]
        return Parts(values, [j - i for i, j in spans], group.shape[1], fields)
    pieces = client.compute(list(np.ravel(np.asarray(data.to_delayed(), dtype=object))))
    checked = [submit(client, as_checked_group, piece, argument) for piece in pieces]
    values = [submit(client, values_of, each) for each in checked]
    found = result_of([submit(client, facts_of, each) for each in checked])
    for number, facts in enumerate(found, start=1):
        if isinstance(facts, DataError):
            msg = f"{facts} That is in partition {number} of {len(found)}."
            raise DataError(msg)
    return _with_rows(values, found, argument)


def _with_rows(values: list[Future], found: list[Facts | None], argument: str) -> Parts:
    """Leave out parts without rows, and put together what is known of the others."""
    some = [(future, facts) for future, facts in zip(values, found, strict=True) if facts is not None]
    if not some:
        msg = f"`{argument}` has no rows; {len(found)} partitions are empty."
        raise DataError(msg)
    facts = [each for _, each in some]
    widths = sorted({each.n_columns for each in facts})
    if len(widths) > 1:
        came = " and ".join(map(str, widths[:3]))
        msg = f"the partitions of `{argument}` must have the same columns; got {came} columns."
        raise DataError(msg)
    if len({each.columns for each in facts}) > 1:
        msg = (
            f"the partitions of `{argument}` must have the same columns in the same order; their names "
            "differ. Select the columns by name first."
        )
        raise DataError(msg)
    names = [each.ids for each in facts if each.ids is not None]
    ids = np.concatenate(names) if len(names) == len(facts) else None
    fields = {"name": argument, "ids": ids, "columns": facts[0].columns}
    return Parts([future for future, _ in some], [each.n_rows for each in facts], widths[0], fields)


def _blocks(client: Any, x: Parts, y: Parts, working_memory: float) -> DaskRows:
    """Cut the parts of both groups into blocks of equal size; no block has rows of both."""
    n_rows, parts = x.n_rows + y.n_rows, x.values + y.values
    spans = plan.strips([0, x.n_rows, n_rows], block_rows(n_rows, x.n_columns, working_memory))
    edges = np.cumsum([0, *x.lengths, *y.lengths])
    blocks = []
    for start, stop in spans:
        first, last = (int(np.searchsorted(edges, at, side="right")) - 1 for at in (start, stop - 1))
        cut = range(first, last + 1)
        cuts = [(max(start - edges[k], 0), min(stop, edges[k + 1]) - edges[k]) for k in cut]
        blocks.append(submit(client, assembled, [parts[k] for k in cut], cuts))
    return DaskRows(client, blocks, [0, *(stop for _, stop in spans)], x.n_columns, working_memory)


def as_checked_group(part: Any, argument: str) -> Group | DataError | None:
    """Return a partition as a group, `None` if it has no rows, or what is wrong with it."""
    if len(part) == 0:
        return None
    try:
        return as_group(part, argument)
    except DataError as error:
        return error  # as an answer: raised on a worker it would fill that one's log


def values_of(group: Group | DataError | None) -> Float64s:
    """Return the rows of a checked partition."""
    return group.values if isinstance(group, Group) else np.empty((0, 0))


def facts_of(group: Group | DataError | None) -> Facts | DataError | None:
    """Return what is known of a checked partition."""
    return Facts(*group.shape, group.columns, group.ids) if isinstance(group, Group) else group


def reordered(rows: Float64s, order: NDArray[np.intp]) -> Float64s:
    """Return rows with their columns in another order."""
    return np.ascontiguousarray(rows[:, order])


def assembled(parts: list[Float64s], cuts: list[tuple[int, int]]) -> Float64s:
    """Return the rows of a block from the parts that it cuts."""
    return stacked([part[start:stop] for part, (start, stop) in zip(parts, cuts, strict=True)])

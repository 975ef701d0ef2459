"""Rows on the workers of a Dask cluster, in blocks; here are only vectors of their number.

Dask arrays and DataFrames become groups: computed once, checked where they lie, cut into blocks. Rows that
fit a small part of the budget are fetched, and all continues as with any array. Others stay on the workers.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.sums import plan
from mmdbounds.sums.dask import Future, check_workers, is_collection, result_of, send, stacked, submit
from mmdbounds.sums.dask.tasks import columns_of
from mmdbounds.sums.protocol import Float64s, RemoteRows, Rows, n_selected, places_in, plain_rows
from mmdbounds.sums.registry import RemoteGroup
from mmdbounds.tables import Group, Identity, as_group, column_order

# A block has a sixteenth of the rows, 1,024 to 16,384 of them; more if there would be over 128 blocks.
FEWEST, USUAL_ROWS, FEW_BLOCKS, MANY_BLOCKS = 1024, 16_384, 16, 128
TASK_COPIES = 8  # copies of a block's rows in a task: two blocks as they came, chosen, ready, and some room
FETCHED_SHARE = 8  # rows that take up to an eighth of `working_memory` are fetched
FETCHED_AT_ONCE = 128 * plan.MIB  # bytes of selected rows that may be fetched whatever the budget


def block_rows(n_rows: int, n_columns: int, working_memory: float) -> int:
    """Return the rows of a block."""
    # It follows from the data and the budget alone: another number of workers must not change the last bits.
    wanted = max(min(math.ceil(n_rows / FEW_BLOCKS), USUAL_ROWS), FEWEST, math.ceil(n_rows / MANY_BLOCKS))
    room = int(working_memory * plan.MIB) // (TASK_COPIES * 8 * (n_columns + 2))
    return max(min(wanted, room), 1)


def can_be_fetched(n_rows: int, n_columns: int, working_memory: float) -> bool:
    """Return whether rows are few enough to be held by this process too."""
    return 8 * n_rows * n_columns <= working_memory * plan.MIB / FETCHED_SHARE


class DaskRows(RemoteRows):
    """Rows in blocks on the workers; what needs all of them in one process is refused, with what to do.

    Block k, a future, has the rows ``edges[k]`` to ``edges[k + 1]``. The budget (MiB) is that of a worker's
    task, and of this process. `at_hand` are the rows, where this process has them too.
    """

    def __init__(
        self,
        client: Any,
        blocks: list[Future],
        edges: list[int],
        n_columns: int,
        working_memory: float,
        *,
        at_hand: Float64s | None = None,
    ) -> None:
        self.client, self.blocks = client, blocks
        self.edges: NDArray[np.intp] = np.array(edges, dtype=np.intp)
        self.shape = (int(self.edges[-1] - self.edges[0]), n_columns)
        self.at_hand = at_hand
        self.block_rows = block_rows(*self.shape, working_memory)
        self._working_memory = working_memory

    @classmethod
    def from_array(cls, client: Any, Z: Float64s, working_memory: float) -> DaskRows:
        """Send rows that are here."""
        check_workers(client)
        n, d = Z.shape
        spans = plan.strips([0, n], block_rows(n, d, working_memory))
        blocks = [send(client, np.ascontiguousarray(Z[i:j])) for i, j in spans]
        return cls(client, blocks, [0, *(j for _, j in spans)], d, working_memory, at_hand=Z)

    def __getitem__(self, rows: Rows) -> Float64s:
        """Fetch some rows."""
        chosen = plain_rows(rows, len(self))
        if self.at_hand is not None:
            return self.at_hand[chosen]
        n = n_selected(chosen)
        if not self.may_fetch(n):
            self._refuse(n)
        if n == 0:
            return np.empty((0, self.shape[1]))
        parts, back = self._taken(places_in(chosen))
        return np.asarray(np.concatenate(result_of(parts))[back])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if self.at_hand is None:
            self._refuse(len(self))
        return np.array(self.at_hand, dtype=dtype, copy=copy)

    def may_fetch(self, n: int) -> bool:
        """Return whether so many rows may come to this process at once."""
        d = self.shape[1]
        return 8 * n * d <= FETCHED_AT_ONCE or can_be_fetched(n, d, self._working_memory)

    def _refuse(self, n: int) -> NoReturn:
        needed = 8 * n * self.shape[1] / plan.MIB
        msg = (
            f"this needs {n:,} rows in one process, {needed:,.0f} MiB, and they are on a cluster. Raise "
            f"`working_memory` to {math.ceil(FETCHED_SHARE * needed)} (an eighth of it may be fetched), take "
            "fewer rows, or use a method that works in blocks ('s-sd', 'sharp')."
        )
        raise MmdBoundsError(msg)

    def part(self, start: int, stop: int) -> DaskRows:
        """Return the blocks that hold the rows `start` to `stop`, which must be edges of blocks."""
        first, last = (int(np.flatnonzero(self.edges == edge)[0]) for edge in (start, stop))
        edges = [int(edge) - start for edge in self.edges[first : last + 1]]
        return DaskRows(self.client, self.blocks[first:last], edges, self.shape[1], self._working_memory)

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function of a block's rows on every block, where it lies; return the answers in order."""
        return list(result_of([submit(self.client, function, block, *arguments) for block in self.blocks]))

    def packed(self, places: NDArray[np.intp]) -> Future:
        """Bring selected rows together on one worker; at most a block of them."""
        if self.at_hand is not None:
            return send(self.client, self.at_hand[places])
        parts, back = self._taken(places)
        return submit(self.client, arranged, parts, back)

    def _taken(self, places: NDArray[np.intp]) -> tuple[list[Future], NDArray[np.intp]]:
        """Have each block give its rows; return them, and how to put them into the order asked for."""
        block = np.searchsorted(self.edges, places, side="right") - 1
        order = np.argsort(block, kind="stable")
        cuts = [0, *(np.flatnonzero(np.diff(block[order])) + 1), len(order)]
        parts = []
        for start, stop in itertools.pairwise(cuts):
            here = order[start:stop]
            k = int(block[here[0]])
            some = places[here] - self.edges[k]
            parts.append(submit(self.client, operator.getitem, self.blocks[k], some))
        return parts, np.argsort(order, kind="stable")


def arranged(parts: list[Float64s], back: NDArray[np.intp]) -> Float64s:
    """Return rows from several blocks in the order asked for."""
    return np.asarray(stacked(parts)[back])


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of a part of a group: its shape and its names."""

    n_rows: int
    n_columns: int
    columns: tuple[str, ...] | None
    ids: NDArray[np.str_] | None


@dataclass(frozen=True, eq=False)
class Parts:
    """A group in the parts in which it came: a future and a number of rows for each, and what else it has."""

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
        scaling = self.fields.get("record", {}).get("scaling", {})
        return Identity(self.n_columns, self.fields["columns"], scaling)


def cluster_groups(X: Any, Y: Any, client: Any, working_memory: float) -> tuple[Group, Group, Float64s]:
    """Return the groups and their pooled rows, one of `X` and `Y` at the least being a Dask collection."""
    check_workers(client)
    given = {"X": X, "Y": Y}
    lazy = {name: checked_collection(data, name) for name, data in given.items() if is_collection(data)}
    # Together: what the two have in common, such as a table of both, is computed once.
    given |= dict(zip(lazy, client.persist(list(lazy.values())), strict=True))
    x, y = (_parts(client, data, argument) for argument, data in given.items())
    order = column_order(x.identity, y.identity)
    if order is not None:
        moved = [submit(client, columns_of, part, order) for part in y.values]
        y = replace(y, values=moved, fields={**y.fields, "columns": x.fields["columns"]})
    if can_be_fetched(x.n_rows + y.n_rows, x.n_columns, working_memory):
        group_x, group_y = (Group(stacked(result_of(each.values)), **each.fields) for each in (x, y))
        return group_x, group_y, np.concatenate([group_x.values, group_y.values])
    rows = _blocks(client, x, y, working_memory)
    group_x = RemoteGroup(cast("Float64s", rows.part(0, x.n_rows)), **x.fields)
    group_y = RemoteGroup(cast("Float64s", rows.part(x.n_rows, len(rows))), **y.fields)
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


def assembled(parts: list[Float64s], cuts: list[tuple[int, int]]) -> Float64s:
    """Return the rows of a block from the parts that it cuts."""
    return stacked([part[start:stop] for part, (start, stop) in zip(parts, cuts, strict=True)])

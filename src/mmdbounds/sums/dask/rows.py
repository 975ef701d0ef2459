"""Pooled rows that lie on the workers of a Dask cluster, in blocks; here are only vectors of their number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.errors import MmdBoundsError
from mmdbounds.sums import plan
from mmdbounds.sums.dask.client import Future, check_workers, result_of, send, stacked, submit
from mmdbounds.sums.protocol import Float64s, Rows, n_selected, places_in, plain_rows

FEWEST, FEW_BLOCKS, MANY_BLOCKS = 1024, 16, 128
USUAL_ROWS = 16_384
"""A block has a sixteenth of the rows, 1,024 to 16,384 of them; more if there would be over 128 blocks."""

TASK_COPIES = 8
"""Copies of a block's rows that a task holds: two blocks as they came, chosen, ready, and some room."""

FETCHED_SHARE = 8
"""Rows that take up to an eighth of `working_memory` are fetched."""

FETCHED_AT_ONCE = 128 * plan.MIB
"""Bytes of selected rows that may be fetched whatever the budget."""


def block_rows(n_rows: int, n_columns: int, working_memory: float) -> int:
    """Return the rows of a block.

    It follows from the data and the budget alone: another number of workers must not change the last bits.
    """
    wanted = max(min(math.ceil(n_rows / FEW_BLOCKS), USUAL_ROWS), FEWEST, math.ceil(n_rows / MANY_BLOCKS))
    room = int(working_memory * plan.MIB) // (TASK_COPIES * 8 * (n_columns + 2))
    return max(min(wanted, room), 1)


def can_be_fetched(n_rows: int, n_columns: int, working_memory: float) -> bool:
    """Return whether rows are few enough to be held by this process too."""
    return 8 * n_rows * n_columns <= working_memory * plan.MIB / FETCHED_SHARE


class DaskRows:
    """Rows in blocks on the workers.

    It stands where an array of the pooled rows stands elsewhere: it has a length and a shape, and some
    of its rows can be fetched. What needs all rows in one process is refused, with what to do.

    Parameters
    ----------
    client
        The cluster's client.
    blocks
        One future for each block, an array of rows.
    edges
        Block k has the rows ``edges[k]`` to ``edges[k + 1]``.
    n_columns
        Columns of the rows.
    working_memory
        Budget in MiB of a worker's task, and of this process.
    at_hand
        The rows, where this process has them too.
    """

    ndim = 2

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

    def __len__(self) -> int:
        return self.shape[0]

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
            parts.append(submit(self.client, taken, self.blocks[k], places[here] - self.edges[k]))
        return parts, np.argsort(order, kind="stable")


def taken(rows: Float64s, places: NDArray[np.intp]) -> Float64s:
    """Return some rows of a block."""
    return rows[places]


def arranged(parts: list[Float64s], back: NDArray[np.intp]) -> Float64s:
    """Return rows from several blocks in the order asked for."""
    return np.asarray(stacked(parts)[back])

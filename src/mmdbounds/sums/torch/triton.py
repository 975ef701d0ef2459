# mypy: ignore-errors
"""Row sums of a kernel matrix on a GPU, of which no block is ever written to memory.

Each row is the sum of two rows in half precision, z = hi + lo, which hold 22 bits between them. Three
products on the matrix units, hi hi' + hi lo' + lo hi', give the inner products to about float32's accuracy at
twice the speed of its own emulation (3xTF32), whose operands are twice as wide. The formula follows while the
products are in registers, and the sums of a tile are added up in float64.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

import torch
import triton
import triton.language as tl
from triton.runtime.errors import OutOfResources

from mmdbounds.kernels import Kernel

__all__ = ["FusedRows", "OutOfResources"]

ROWS, COLUMNS, WARPS, STAGES = 128, 128, 4, 2  # a tile: the fastest of ten on an H200 at 54 features
DEPTH = 64  # features that are multiplied at a time
LEAST_DEPTH = 16  # the matrix units take no fewer
FULL_GRID = 8192  # programs from which on a GPU is busy; rows beyond the tiles' share the columns out
LEAST_COLUMNS = 4096  # columns a program takes at the least


@functools.cache
def _compiled(form):
    """Compile a kernel's formula; its file does not import Triton, so it finds the language here."""
    return triton.jit(FunctionType(form.__code__, {**form.__globals__, "tl": tl}, form.__name__))


def _as_it_is(t, offset, degree):
    return t


@triton.jit
def _load(source, rows, n_rows, first, depth: tl.constexpr, width: tl.constexpr):
    """Return some features of some rows, 0 beyond the last row."""
    features = first + tl.arange(0, depth)
    return tl.load(source + rows[:, None] * width + features[None, :], mask=rows[:, None] < n_rows, other=0.0)


@triton.jit
def _row_sums(
    high,
    low,
    half_norms,
    places,
    other_high,
    other_low,
    other_half_norms,
    other_places,
    weights,
    out,
    n_rows,
    n_columns,
    share,
    unit,
    offset,
    formula: tl.constexpr,
    degree: tl.constexpr,
    distances: tl.constexpr,
    weighted: tl.constexpr,
    depth: tl.constexpr,
    width: tl.constexpr,
    tile_rows: tl.constexpr,
    tile_columns: tl.constexpr,
):
    """Add up the kernel values of a tile's rows to a share of the columns."""
    rows = (tl.program_id(0) * tile_rows + tl.arange(0, tile_rows)).to(tl.int64)
    start = tl.program_id(1) * share
    a_high = _load(high, rows, n_rows, 0, depth, width)
    a_low = _load(low, rows, n_rows, 0, depth, width)
    if distances:
        own = tl.load(half_norms + rows, mask=rows < n_rows, other=0.0)
        here = tl.load(places + rows, mask=rows < n_rows, other=-1)
        last, lowest = tl.max(here, 0), tl.min(here, 0)
    total = tl.zeros((tile_rows,), tl.float64)
    for first in range(start, min(start + share, n_columns), tile_columns):
        columns = (first + tl.arange(0, tile_columns)).to(tl.int64)
        b_high = _load(other_high, columns, n_columns, 0, depth, width)
        b_low = _load(other_low, columns, n_columns, 0, depth, width)
        t = tl.dot(a_low, tl.trans(b_high))
        t = tl.dot(a_high, tl.trans(b_low), t)
        t = tl.dot(a_high, tl.trans(b_high), t)
        for feature in tl.static_range(depth, width, depth):
            c_high = _load(high, rows, n_rows, feature, depth, width)
            c_low = _load(low, rows, n_rows, feature, depth, width)
            d_high = _load(other_high, columns, n_columns, feature, depth, width)
            d_low = _load(other_low, columns, n_columns, feature, depth, width)
            t = tl.dot(c_low, tl.trans(d_high), t)
            t = tl.dot(c_high, tl.trans(d_low), t)
            t = tl.dot(c_high, tl.trans(d_high), t)
        if distances:
            theirs = tl.load(other_half_norms + columns, mask=columns < n_columns, other=0.0)
            t = t + own[:, None] + theirs[None, :]
            there = tl.load(other_places + columns, mask=columns < n_columns, other=-2)
            if (tl.min(there, 0) <= last) & (tl.max(there, 0) >= lowest):
                # A row is at distance 0 from itself, which products miss by rounding.
                t = tl.where(here[:, None] == there[None, :], 0.0, t)
        else:
            t = t * unit
        value = formula(t, offset, degree)
        if weighted:
            value = value * tl.load(weights + columns, mask=columns < n_columns, other=0.0)[None, :]
        else:
            value = tl.where(columns[None, :] < n_columns, value, 0.0)
        total += tl.sum(value, 1).to(tl.float64)
    tl.store(out + tl.program_id(1).to(tl.int64) * n_rows + rows, total, mask=rows < n_rows)


class FusedRows:
    """The pooled rows (float64, as they enter the products) in halves, ready for sums.

    `half_norms` are -|z|^2 / 2 of each row where the kernel is a formula of distances, else `None`.
    """

    def __init__(self, rows: Any, half_norms: Any, kernel: Kernel) -> None:
        self._kernel = kernel
        self._distances = half_norms is not None
        # Half precision ends at 65504. Rows of distance kernels never come near (float32 would be refused).
        self._unit = 1.0 if self._distances else float(2.0 ** torch.frexp(rows.abs().max())[1].item())
        n, d = rows.shape
        width = max(LEAST_DEPTH, triton.next_power_of_2(d)) if d <= DEPTH else triton.cdiv(d, DEPTH) * DEPTH
        z = rows.new_zeros((n, width))
        z[:, :d] = rows / self._unit
        self._high = z.half()
        self._low = (z - self._high.double()).half()
        self._half_norms = (rows.new_zeros(n) if half_norms is None else half_norms).float()
        self._places = torch.arange(n, dtype=torch.int32, device=rows.device)

    def sums(self, A: Any, B: Any, weights: Any = None) -> Any:
        """Return for each row of `A` the (weighted) sum of its kernel values with the rows of `B`."""
        parts = (self._high, self._low, self._half_norms, self._places)
        mine, theirs = ([part[C] for part in parts] for C in (A, B))
        n_rows, n_columns, width = len(mine[0]), len(theirs[0]), self._high.shape[1]
        tiles = triton.cdiv(n_rows, ROWS)
        shares = max(1, min(triton.cdiv(n_columns, LEAST_COLUMNS), triton.cdiv(FULL_GRID, tiles)))
        share = triton.cdiv(triton.cdiv(n_columns, shares), COLUMNS) * COLUMNS
        shares = triton.cdiv(n_columns, share)
        offset, degree = self._kernel.constants
        out = self._half_norms.new_empty((shares, n_rows), dtype=torch.float64)
        _row_sums[(tiles, shares)](
            *mine,
            *theirs,
            self._half_norms if weights is None else weights.float(),
            out,
            n_rows,
            n_columns,
            share,
            self._unit**2,
            float(offset),
            formula=_compiled(self._kernel.forms.triton or _as_it_is),
            degree=int(degree),
            distances=self._distances,
            weighted=weights is not None,
            depth=min(width, DEPTH),
            width=width,
            tile_rows=ROWS,
            tile_columns=COLUMNS,
            num_warps=WARPS,
            num_stages=STAGES,
        )
        return out.sum(0)  # in a fixed order, which atomic additions would not have

"""Compiled strips of the kernel matrix: product, formula and sum while the block is in cache.

Everything here releases the interpreter lock for a whole strip. Threads that come back to
Python between blocks spend more time waiting for the lock than computing.

A strip is a few hundred rows (`left`) against many columns (`right`), cut into blocks. The
matrix product of a block is x; `_formula` turns a row of it into kernel values in place. The formulas are
those of the kernels' files (`CompiledForms`), and become a part of the loops here.
"""
# The compiler knows these functions by their types alone; nothing is gained by annotating them twice.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401 -- numba's matrix product calls it; loaded early so that its threads can be held
from numba import types
from numba.extending import overload

from mmdbounds import kernels
from mmdbounds.compiled import entry, part
from mmdbounds.kernels import Kernel
from mmdbounds.kernels.base import exp2
from mmdbounds.kernels.registry import SHIPPED_FORMS
from mmdbounds.sums.points import NEEDS_CLAMP

FLUSH = 128  # rows after which column sums go from the block's precision to float64
_F = np.float32

# 2^f on (-1, 0], relative error 1e-8 in float32 and 2e-17 in float64; 2^0 = 1 exactly.
_A6, _A5, _A4, _A3, _A2, _A1 = (
    _F(1.1491995029233740847e-4),
    _F(1.2916368799871660331e-3),
    _F(9.5970351894350256546e-3),
    _F(5.5499229589346047991e-2),
    _F(2.4022609141349037008e-1),
    _F(6.931471747956154397e-1),
)
_B11, _B10, _B9, _B8, _B7, _B6, _B5, _B4, _B3, _B2, _B1 = (
    3.2435703048209342379e-10,
    6.7850371529044773036e-9,
    1.0142862251827564247e-7,
    1.3212599041458505532e-6,
    1.5252580836125648285e-5,
    1.5403525172150619281e-4,
    1.3333558035088171283e-3,
    9.6181291062413309013e-3,
    5.5504108664732849316e-2,
    2.4022650695909849658e-1,
    6.9314718055994530026e-1,
)


# "reassoc" lets sums use vector lanes, "contract" fused multiply-add. Which of them a loop uses follows
# from the compiler and the processor, not from the data, the threads or what is in the cache.
_FASTMATH = ("reassoc", "contract", "nsz")
_part = part(_FASTMATH)
_entry = entry(_FASTMATH, Path(str(kernels.__file__)).parent.glob("*.py"))


@overload(exp2, inline="always")
def _exp2_for(x):
    # 2^x for x <= 0; below the smallest normal number it stays there.
    # Truncation leaves f in (-1, 0]; the exponent is added to the bits of the polynomial.
    if x == types.float32:

        def single(x):
            x = max(x, _F(-126.0))
            n = np.int32(x)
            f = x - _F(n)
            y = (((((_A6 * f + _A5) * f + _A4) * f + _A3) * f + _A2) * f + _A1) * f + _F(1.0)
            return np.int32(np.float32(y).view(np.int32) + (n << np.int32(23))).view(np.float32)

        return single

    def double(x):
        x = max(x, -1022.0)
        n = np.int64(x)
        f = x - np.float64(n)
        y = (((((_B11 * f + _B10) * f + _B9) * f + _B8) * f + _B7) * f + _B6) * f + _B5
        y = ((((y * f + _B4) * f + _B3) * f + _B2) * f + _B1) * f + 1.0
        return np.int64(np.float64(y).view(np.int64) + (n << np.int64(52))).view(np.float64)

    return double


# A kind is a place in this list: formulas of products of rows scaled for distances, then those of squared
# distances from differences, then those of inner products. numba keeps no code that was handed a
# function, so each place has a name of its own here, and a few are free for kernels to come.
_DISTANCE_FORMS, _DIFFERENCE_FORMS, _INNER_FORMS = (
    [
        form
        for cls, forms in SHIPPED_FORMS
        if (cls.geometry == "distance2", cls.squared_scale is not None) == which
        for form in (forms.row, forms.far)
        if form is not None
    ]
    for which in ((True, True), (True, False), (False, False))
)
FORMS = (*_DISTANCE_FORMS, *_DIFFERENCE_FORMS, *_INNER_FORMS)
LAST_DISTANCE_KIND = len(_DISTANCE_FORMS) - 1  # kinds up to this one are formulas of a product...
LAST_DIFFERENCE_KIND = len(_DISTANCE_FORMS) + len(_DIFFERENCE_FORMS) - 1  # ... up to this one of differences
N_PLACES = 7
PRODUCT_ITSELF = N_PLACES  # the kind of kernels that are the product: no formula


def _as_it_is(row, offset, degree):
    """Fill a free place."""


_f0, _f1, _f2, _f3, _f4, _f5, _f6 = (_part(form) for form in (*FORMS, *[_as_it_is] * (N_PLACES - len(FORMS))))
_SUMMED_KIND, _sums = next(
    (FORMS.index(forms.row), _part(forms.sums)) for _, forms in SHIPPED_FORMS if forms.sums is not None
)


@_part
def _formula(row, kind, offset, degree):
    """Turn products into kernel values, in place."""
    if kind == 0:
        _f0(row, offset, degree)
    elif kind == 1:
        _f1(row, offset, degree)
    elif kind == 2:
        _f2(row, offset, degree)
    elif kind == 3:
        _f3(row, offset, degree)
    elif kind == 4:
        _f4(row, offset, degree)
    elif kind == 5:
        _f5(row, offset, degree)
    elif kind == 6:
        _f6(row, offset, degree)


@_part
def _add_squares(row, mine, columns):
    """Add the squared differences of one row from many, whose `columns` lie together; four at a time."""
    fours = len(mine) // 4 * 4
    for k in range(0, fours, 4):
        a, b, c, d = mine[k], mine[k + 1], mine[k + 2], mine[k + 3]
        first, second, third, fourth = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
        for j in range(len(row)):
            row[j] += (first[j] - a) ** 2 + (second[j] - b) ** 2 + (third[j] - c) ** 2 + (fourth[j] - d) ** 2
    for k in range(fours, len(mine)):
        a, column = mine[k], columns[k]
        for j in range(len(row)):
            row[j] += (column[j] - a) ** 2


@_part
def _product(left, right, start, same, kind, buffer):
    """Return left @ right.T in `buffer`, or squared distances; that of a row to itself is 0 exactly."""
    block = buffer[: len(left) * len(right)].reshape(len(left), len(right))
    if LAST_DISTANCE_KIND < kind <= LAST_DIFFERENCE_KIND:
        columns = np.ascontiguousarray(right.T)
        block[:] = 0
        for i in range(len(left)):
            _add_squares(block[i], left[i], columns)
        return block
    np.dot(left, right.T, block)
    if kind <= LAST_DISTANCE_KIND:
        for i in range(len(left)):
            j = same[i] - start
            if 0 <= j < len(right):
                block[i, j] = 0
    return block


@_part
def _add_up(slab, kind, offset, degree, row_sums, partial):
    """Turn a few rows of products into kernel values and add them to row sums and column sums.

    A function of its own, called with plain arrays: only so does the compiler use vectors.
    """
    for i in range(len(slab)):
        row = slab[i]
        total = row.dtype.type(0)
        if kind == _SUMMED_KIND:  # the default kernel: formula and sums in one loop
            total = _sums(row, partial)
        else:
            _formula(row, kind, offset, degree)
            for j in range(len(row)):
                total += row[j]
                partial[j] += row[j]
        row_sums[i] += total


@_entry
def strip_sums(left, right, same, edges, symmetric, formula, buffer, segment, row_sums, column_sums):
    """Add a strip to its row sums, one line for each segment of columns, and to its column sums.

    With `symmetric` the first block is the square on the diagonal, whose columns are the
    strip's own rows and must not be counted twice; without it there are no column sums.
    """
    kind, offset, degree = formula
    partial = np.empty(len(buffer) // len(left), right.dtype)
    for k in range(len(segment)):
        start, stop = edges[k], edges[k + 1]
        block = _product(left, right[start:stop], start, same, kind, buffer)
        for i in range(0, len(block), FLUSH):
            here = partial[: stop - start]
            here[:] = 0
            _add_up(block[i : i + FLUSH], kind, offset, degree, row_sums[segment[k], i : i + FLUSH], here)
            if symmetric and k > 0:
                for j in range(stop - start):
                    column_sums[start + j] += here[j]


@_entry
def strip_products(left, right, same, edges, symmetric, formula, buffer, mine, theirs, row_sums, column_sums):
    """Add strip @ theirs to the row sums; with `symmetric` strip.T @ mine to the column sums."""
    kind, offset, degree = formula
    for k in range(len(edges) - 1):
        start, stop = edges[k], edges[k + 1]
        block = _product(left, right[start:stop], start, same, kind, buffer)
        for i in range(len(block)):
            _formula(block[i], kind, offset, degree)
        row_sums += np.dot(block, theirs[start:stop])
        if symmetric and k > 0:
            column_sums[start:stop] += np.dot(block.T, mine)


@_part
def _add_excess(values, x, sign, thresholds, sums):
    """Add to `sums` by how much x plus signed kernel values exceeds each threshold of a row."""
    for j in range(len(values)):
        x[j] += sign * values[j]
    for k in range(len(thresholds)):
        threshold, total = thresholds[k], 0.0
        for j in range(len(x)):
            total += max(x[j] - threshold, 0.0)
        sums[k] += total


@_entry
def strip_excess(left, right, same, edges, symmetric, formula, buffer, mine, theirs, thresholds, sign, sums):
    """Add by how much the pairs of a strip exceed each row's thresholds to `sums`; see `excess_of`."""
    kind, offset, degree = formula
    space = np.empty(len(buffer), mine.dtype)
    for k in range(len(edges) - 1):
        start, stop = edges[k], edges[k + 1]
        block = _product(left, right[start:stop], start, same, kind, buffer)
        x = space[: block.size].reshape(block.shape)
        np.dot(mine, theirs[start:stop].T, x)
        for i in range(len(block)):
            _formula(block[i], kind, offset, degree)
            _add_excess(block[i], x[i], sign, thresholds[i], sums[i])


@_entry
def strip_block(left, right, same, edges, symmetric, formula, buffer, out):
    """Write the kernel values of a strip to `out`."""
    kind, offset, degree = formula
    for k in range(len(edges) - 1):
        start, stop = edges[k], edges[k + 1]
        block = _product(left, right[start:stop], start, same, kind, buffer)
        for i in range(len(block)):
            _formula(block[i], kind, offset, degree)
            for j in range(stop - start):
                out[i, start + j] = block[i, j]


@_entry
def take_one_by_one(scores, place, columns, gain, count, tie_width):
    """See `engines`: the same in one loop over the rows for each row taken."""
    taken = np.empty(count, np.intp)
    total = np.zeros(len(scores))
    best = np.max(scores)
    for n in range(count):
        row = 0
        while scores[row] < best - tie_width:
            row += 1
        if place[row] < 0:
            return taken[:n], total
        taken[n] = row
        scores[row] = -np.inf
        column = columns[place[row]]
        best = -np.inf
        for i in range(len(scores)):
            score = scores[i] + gain * column[i]
            scores[i] = score
            total[i] += column[i]
            best = max(best, score)
    return taken[:count], total


def parameters(kernel: Kernel, dtype: str, value_error: float) -> tuple[int, Any, int]:
    """Return what the compiled code needs to know of a kernel: kind, offset and degree.

    Where rows far from the centre make rounding large, a product can claim a distance well below 0.
    """
    forms = dict(SHIPPED_FORMS)[type(kernel)]
    form = forms.far if forms.far is not None and value_error > NEEDS_CLAMP else forms.row
    offset, degree = kernel.constants
    return PRODUCT_ITSELF if form is None else FORMS.index(form), np.dtype(dtype).type(offset), degree

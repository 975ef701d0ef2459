"""Each column by itself: how far apart the groups are, and how far apart misfiling may make them.

For one column everything is exact and needs no search. Let v be the values of the pooled rows, or their
ranks. Both statistics depend on a labelling only through its sizes and S, the sum of v over the true X:

- the difference of means is S / n_X - (T - S) / n_Y, where T is the sum over all rows;
- the probability that a row of X exceeds one of Y, ties half, is (S - n_X^2 / 2) / (n_X n_Y), where v is the
  rank of a row: the rows below it and half of those that are equal, itself included.

With the counts fixed, S is largest when the largest rows of Y and the smallest rows of X move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.counts import Counts, Movable, check_sizes
from mmdbounds.errors import DataError, quoted
from mmdbounds.knowledge import known_rows
from mmdbounds.results.columns import ColumnRow, ColumnTable
from mmdbounds.sums.threads import in_order, threads_for
from mmdbounds.tables import Group
from mmdbounds.tables.group import as_groups, group_fields
from mmdbounds.tables.scaling import units

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Statistic = Callable[[Floats, Ints], Floats]  # of the sums S and the true sizes n_X
TOGETHER = 4  # columns that a thread takes out of the rows at once: half a line of the cache
SOON = 0.1  # part of the rows within which most columns lose their sign, if at all


def column_table(
    X: Any,
    Y: Any,
    epsilon: float | Contamination,
    *,
    exactly: bool | None = None,
    verified: tuple[Any, Any] | None = None,
) -> ColumnTable:
    """Compare the groups column by column, with bounds over every admissible misfiling.

    This is the table with which studies begin, "Table 1", when the groups cannot be trusted. Its bounds are
    exact: no labelling lies outside, and some labelling reaches each of them, another one for each column.

    Parameters
    ----------
    X, Y
        The groups as filed, as in `mmd_bounds`. What `groups` has scaled is shown in its original units.
    epsilon, exactly, verified
        As in `mmd_bounds`.

    Returns
    -------
    ColumnTable
        One row for each column: means, their difference, also in standard deviations, and the probability
        that a row of X exceeds one of Y, each with its bounds.

    Examples
    --------
    >>> import mmdbounds as mb
    >>> table = mb.column_table([[1.0], [2.0]], [[2.0], [4.0], [6.0]], mb.Contamination(n_moved=1))
    >>> row = table.rows[0]
    >>> row.difference, round(row.difference_lower, 4), row.difference_upper
    (-2.5, -3.3333, 0.0)
    """
    contamination = as_contamination(epsilon, exactly)
    X, Y, known = known_rows(X, Y, contamination, verified, None)
    x, y = as_groups(X, Y)
    admissible = contamination.possible(len(x), len(y), known.movable)
    moves = _Moves.of(admissible)
    n_x = len(x) + moves.of_y - moves.of_x
    for smallest in (np.argmin(n_x), np.argmax(n_x)):  # true X, and true Y
        check_sizes(admissible[smallest], len(x), len(y), unbiased=False)
    names = x.columns or tuple(f"column {j}" for j in range(x.shape[1]))
    blocks = [slice(j, min(j + TOGETHER, x.shape[1])) for j in range(0, x.shape[1], TOGETHER)]

    def compared(block: slice) -> list[ColumnRow]:
        pairs = zip(x.values[:, block].T.copy(), y.values[:, block].T.copy(), strict=True)
        return [_row(names[block.start + i], *pair, moves, x) for i, pair in enumerate(pairs)]

    found = in_order(blocks, compared, threads_for(x.values.size + y.values.size))
    most = int(moves.of_y.max()), int(moves.of_x.max())
    return ColumnTable(
        rows=tuple(row for _, rows in found for row in rows),
        n_moved=most[0],
        n_moved_of_x=most[1],
        exactly=bool(contamination.exactly),
        misfiling=contamination.stated(),
        **known.fields_for(contamination, (len(x), len(y)), most[0]),
        epsilon=float((moves.of_y / n_x).max()),
        **group_fields(x, y),
        n_dropped=tuple(x.record.get("n_dropped_rows", (0, 0))),
    )


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The values of the rows of a group that may move, those first that move first: least, and greatest."""

    least: Floats
    greatest: Floats

    @classmethod
    def of(cls, values: Floats, n_movable: int, strata: Sequence[tuple[int, int]]) -> _Candidates:
        """Return them from the values of a group whose rows that may move come first, in strata."""
        ends = np.cumsum([n for n, _ in strata]).tolist()
        parts = [np.sort(part) for part in np.split(values[:n_movable], ends[:-1])]
        most = [min(n, limit) for n, limit in strata] or [n_movable]
        low = np.concatenate([part[:m] for part, m in zip(parts, most, strict=True)])
        high = np.concatenate([part[len(part) - m :] for part, m in zip(parts, most, strict=True)])
        return cls(np.sort(low), np.sort(high)[::-1])

    def mapped(self, function: Callable[[Floats], Floats]) -> _Candidates:
        """Return a function of the values, one that grows with them."""
        return _Candidates(function(self.least), function(self.greatest[::-1])[::-1])


@dataclass(frozen=True, eq=False)
class _Moves:
    """The admissible counts, as arrays, and which rows may move."""

    of_y: Ints
    of_x: Ints
    movable: Movable | None

    @classmethod
    def of(cls, admissible: Sequence[Counts]) -> _Moves:
        pairs = np.array([(c.n_moved, c.n_moved_of_x) for c in admissible], dtype=np.intp)
        return cls(pairs[:, 0], pairs[:, 1], admissible[0].movable)

    def candidates(self, x: Floats, y: Floats) -> tuple[_Candidates, _Candidates]:
        """Sort X and Y, and return the rows that may move; of X, they come last."""
        if (rows := self.movable) is None:
            x.sort()
            y.sort()
            return _Candidates(x, x[::-1]), _Candidates(y, y[::-1])
        # Strata of X are consecutive too: turned round, with the rows.
        of_x = _Candidates.of(x[::-1], rows.of_x, rows.strata_of_x[::-1])
        of_y = _Candidates.of(y, rows.of_y, rows.strata_of_y)
        x.sort()
        y.sort()
        return of_x, of_y

    def looked_at(self, both: tuple[_Candidates, _Candidates]) -> list[_Candidates]:
        """Return no more of the candidates than the largest counts move."""
        most = int(self.of_x.max()), int(self.of_y.max())
        return [_Candidates(each.least[:m], each.greatest[:m]) for each, m in zip(both, most, strict=True)]

    def blur(self, p: int, q: int) -> float:
        """Return how far rounding can move the differences of all counts."""
        return float(_blur(self.of_y + self.of_x, p + self.of_y - self.of_x, p + q).max())

    def extremes(
        self, start: float, p: int, both: list[_Candidates], statistic: Statistic
    ) -> tuple[float, float]:
        """Return the smallest and the largest statistic over all counts; X as filed has the sum `start`."""
        of_x, of_y = both
        n_x = p + self.of_y - self.of_x
        into, out = _sums_of_first(of_y.least, self.of_y), _sums_of_first(of_x.greatest, self.of_x)
        low = statistic(start + into - out, n_x).min()
        into, out = _sums_of_first(of_y.greatest, self.of_y), _sums_of_first(of_x.least, self.of_x)
        return float(low), float(statistic(start + into - out, n_x).max())


def _sums_of_first(values: Floats, counts: Ints) -> Floats:
    """Return the sums of the first entries, for each of the counts."""
    sums = np.zeros(int(counts.max()) + 1)
    np.cumsum(values[: len(sums) - 1], out=sums[1:])
    return np.asarray(sums[counts])


def _row(name: str, x: Floats, y: Floats, moves: _Moves, group: Group) -> ColumnRow:
    """Compare one column."""
    centre, unit, is_linear = units(group.record.get("scaling", {}).get(name, []))
    p, n, of_both = len(x), len(x) + len(y), moves.candidates(x, y)
    with np.errstate(over="ignore"):
        middle = (x.sum() + y.sum()) / n
    if not np.isfinite(middle):
        msg = f"the values of column {quoted(name)} are too large to be added up. Rescale the column."
        raise DataError(msg)
    # Sums of what is left after the mean is taken away do not cancel; no difference changes.
    of_x, of_y = x - middle, y - middle
    start, total = float(of_x.sum()), float(of_x.sum() + of_y.sum())
    largest = max(-of_x[0], of_x[-1], -of_y[0], of_y[-1])
    blur = moves.blur(p, len(y)) * largest
    less = [each.mapped(lambda values: values - middle) for each in of_both]
    difference = partial(_difference, total=total, n=n)
    every = (float(of_x.mean() - of_y.mean()), *moves.extremes(start, p, less, difference))
    filed, low, high = (0.0 if abs(d) <= blur else d for d in every)
    rank_sum = p * p / 2 + _n_exceeding(x, y)  # among themselves the ranks of p rows add up to p^2 / 2
    ranks = [each.mapped(lambda values: _ranks(values, x, y)) for each in moves.looked_at(of_both)]
    exceeds = partial(_exceeds, n=n)
    auc = float(exceeds(np.array([rank_sum]), np.array([p]))[0])
    auc_low, auc_high = moves.extremes(rank_sum, p, ranks, exceeds)
    deviation = float(np.sqrt((of_x @ of_x + of_y @ of_y) / n))
    to_deviations = 1 / deviation if deviation else 0.0
    return ColumnRow(
        name=name,
        mean_x=centre + unit * float(middle + of_x.mean()),
        mean_y=centre + unit * float(middle + of_y.mean()),
        difference=unit * filed,
        difference_lower=unit * low,
        difference_upper=unit * high,
        standardised=to_deviations * filed,
        standardised_lower=to_deviations * low,
        standardised_upper=to_deviations * high,
        auc=auc,
        auc_lower=auc_low,
        auc_upper=auc_high,
        sign_lost=_sign_lost(start, total, p, n, less[1], filed, largest),
        is_share=_is_share(x, y, centre, unit) and is_linear,
        in_units=is_linear,
        n_missing=int((group.record.get("n_filled_cells") or {}).get(name.partition("=")[0], 0)),
    )


def _is_share(x: Floats, y: Floats, centre: float, unit: float) -> bool:
    """Return whether an ascending column holds nothing but 0 and 1, or one of them, in its units."""
    low, high = min(x[0], y[0]), max(x[-1], y[-1])
    ends = centre + unit * np.array([low, high])
    # What was scaled and is scaled back is off by its last digits.
    if not np.allclose(ends, np.round(ends).clip(0, 1), rtol=0, atol=1e-12):
        return False
    return all(np.count_nonzero(v[1:] != v[:-1]) <= 1 and {v[0], v[-1]} <= {low, high} for v in (x, y))


def _difference(sums: Floats, n_x: Ints, *, total: float, n: int) -> Floats:
    return np.asarray(sums / n_x - (total - sums) / (n - n_x))


def _exceeds(rank_sums: Floats, n_x: Ints, *, n: int) -> Floats:
    sizes = n_x.astype(np.float64)
    return np.asarray((rank_sums - sizes * sizes / 2) / (sizes * (n - sizes)))


def _ranks(values: Floats, x: Floats, y: Floats) -> Floats:
    """Return for each value how many rows of two ascending columns are below it, and half of those equal."""
    below = [np.searchsorted(rows, values, side) for rows in (x, y) for side in ("left", "right")]
    return np.asarray(sum(below) / 2)


def _n_exceeding(x: Floats, y: Floats) -> float:
    """Return in how many pairs a row of x exceeds one of y, ties half; both are ascending."""
    if len(x) > len(y):  # it takes a search for each row of the first
        return len(x) * len(y) - _n_exceeding(y, x)
    below = np.searchsorted(y, x)
    ties = y[np.minimum(below, len(y) - 1)] == x
    equal = np.searchsorted(y, x[ties], "right") - below[ties]
    return float(below.sum()) + float(equal.sum()) / 2


def _blur(moved: Ints, n_x: Ints, n: int) -> Floats:
    """Return how far rounding can move differences of means, as a part of the largest value.

    One sum after another was added up for the rows that move, and in pairs for all others.
    """
    terms = moved.astype(np.float64) ** 2 + n * np.log2(n + 1.0)
    return np.asarray(np.finfo(np.float64).eps * terms * (1 / n_x + 1 / (n - n_x)))


def _sign_lost(
    start: float, total: float, p: int, n: int, of_y: _Candidates, difference: float, largest: float
) -> int | None:
    """Return the smallest number of rows of Y whose move to X takes the difference's sign away."""
    if difference == 0:
        return 0
    joining = of_y.least if difference > 0 else of_y.greatest
    every = min(len(joining), n - p - 1)
    for most in (int(SOON * every), every):
        moved = np.arange(1, most + 1)
        n_x, sums = p + moved, start + np.cumsum(joining[:most])
        left = np.sign(difference) * _difference(sums, n_x, total=total, n=n)
        lost = left <= largest * _blur(moved, n_x, n)
        if lost.any():
            return int(np.argmax(lost)) + 1
    return None

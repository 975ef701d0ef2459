"""What the picture of the witness shows: where the rows are, and the witness there."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds import kernels
from mmdbounds.errors import DataError, MmdBoundsError, did_you_mean
from mmdbounds.kernels import Kernel
from mmdbounds.plotting.canvas import LABEL_WIDTH, name_text
from mmdbounds.results import Bound, BoundsResult, Provenance
from mmdbounds.sums import make_sums
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import Group, as_groups
from mmdbounds.tables.scaling import units
from mmdbounds.words.phrases import percent

Feature = int | str
Features = Feature | Sequence[Feature] | None
THINNING_SEED = 0


@dataclass(frozen=True, eq=False)
class RowsShown:
    """The rows that are shown, and the witness there."""

    pooled: Float64s  # all rows, X first
    rows: NDArray[np.intp]  # those of them that are shown
    places: Float64s  # where these stand on one or two axes, in the units of a column, shape (rows, axes)
    names: list[str]  # of the axes
    columns: list[int] | None  # that the axes are; `None` for principal components
    witness: Float64s  # of the rows shown
    kernel: Kernel
    weights: Float64s  # of all rows; see `weights_of`
    centres: Float64s  # that were taken from the columns of the axes, ...
    units: Float64s  # ... before they were divided by these

    @property
    def is_whole(self) -> bool:
        """Whether the axes are all columns there are, so that the witness is a function on them."""
        return self.columns is not None and sorted(self.columns) == list(range(self.pooled.shape[1]))

    def function(self, places: Float64s) -> Float64s:
        """Return the witness anywhere, if the axes are all columns."""
        points = np.empty_like(places)
        points[:, self.columns] = (places - self.centres) / self.units
        return witness_at(points, self.pooled, self.kernel, self.weights)


def rows_shown(
    result: BoundsResult, X: Any, Y: Any, *, features: Features, side: str | None, kernel: Any, max_rows: int
) -> RowsShown:
    """Return the rows to show, and the witness of all rows there."""
    group_x, group_y = as_groups(X, Y)
    p, q, known_rows = result.n_samples_X, result.n_samples_Y, result.knowledge
    in_the_call = "verified_column" not in result.provenance.data
    if in_the_call and known_rows is not None and known_rows.n_refiled_to_x + known_rows.n_refiled_to_y:
        what = "`X` and `Y` are the groups before verified rows were refiled, unlike those of the result"
        msg = f"{what}. Refile the rows first, and pass these groups to both functions."
        raise MmdBoundsError(msg)
    if (len(group_x), len(group_y)) != (p, q):
        got = f"{len(group_x)} and {len(group_y)}"
        msg = f"`X` and `Y` must be the groups of the result, {p} and {q} rows; got {got}."
        raise DataError(msg)
    columns, chosen = columns_of(group_x, features), kernel_of(result.provenance, kernel)
    pooled = np.concatenate([group_x.values, group_y.values])
    rows, weights = thinned(len(pooled), max_rows), weights_of(result, side)
    witness = witness_at(pooled[rows], pooled, chosen, weights)
    centres, scales = np.zeros(2), np.ones(2)
    if columns is None:
        places, names = principal(pooled[rows])
    else:
        names, centres, scales = in_units(group_x, columns)
        places = centres + scales * pooled[rows][:, columns]
    return RowsShown(pooled, rows, places, names, columns, witness, chosen, weights, centres, scales)


def in_units(group: Group, columns: list[int]) -> tuple[list[str], Float64s, Float64s]:
    """Return what columns are called, and what brings them back to their own units: centres and factors."""
    known = group.columns or [f"column {i}" for i in range(group.shape[1])]
    undone = [units(group.record.get("scaling", {}).get(known[i], [])) for i in columns]
    centres, scales, is_undone = zip(*undone, strict=True)
    names = [
        f"{name_text(known[i], LABEL_WIDTH)}{'' if own else ' (as scaled)'}"
        for i, own in zip(columns, is_undone, strict=True)
    ]
    return names, np.array(centres), np.array(scales)


def kernel_of(made: Provenance, given: Any) -> Kernel:
    """Return the kernel that a result was made with; a user's function has to be given again."""
    if given is not None:
        if isinstance(given, Kernel):
            return given
        if callable(given):
            return kernels.FunctionKernel(given)
        msg = f"`kernel` must be a kernel object or a function k(A, B); got {type(given).__name__}."
        raise MmdBoundsError(msg)
    name = made.kernel
    cls = kernels.kernel_class(name) if name in kernels.kernel_names() else Kernel
    if issubclass(cls, kernels.BandwidthKernel) and made.bandwidth is not None:
        return cls(made.bandwidth)
    if issubclass(cls, kernels.PairKernel) and not issubclass(cls, kernels.BandwidthKernel):
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{k: v for k, v in made.kernel_options.items() if k in known})
    why = "is a matrix, which has no rows to draw" if name == kernels.Precomputed.name else "is not stored"
    msg = f"the kernel of this result ({made.kernel!r}) {why}. Pass rows as `X` and `Y`, and `kernel=...`."
    raise MmdBoundsError(msg)


def weights_of(result: BoundsResult, side: str | None) -> Float64s:
    """Return the weights of the pooled rows whose kernel sums are the witness: of the means, X less Y."""
    belongs = np.arange(result.n_samples_X + result.n_samples_Y) < result.n_samples_X
    if side is not None:
        bound: Bound = getattr(result, side)
        belongs[bound.rows + result.n_samples_X] = True
        belongs[bound.rows_of_x] = False
    return np.asarray(np.where(belongs, 1 / max(belongs.sum(), 1), -1 / max((~belongs).sum(), 1)))


def witness_at(points: Float64s, pooled: Float64s, kernel: Kernel, weights: Float64s) -> Float64s:
    """Return the witness at any points: the weighted sum of their kernel values to the pooled rows."""
    n = len(pooled)
    # Points and rows stand in one list, because the sums know rows by their places only.
    sums = make_sums(np.concatenate([pooled, points]), kernel)
    return sums.apply(slice(n, n + len(points)), slice(0, n), weights)


def thinned(n_rows: int, most: int) -> NDArray[np.intp]:
    """Return which of the pooled rows are shown: all, or a random part, always the same."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(THINNING_SEED).choice(n_rows, most, replace=False))


def columns_of(group: Group, features: Features) -> list[int] | None:
    """Return the columns to draw, one or two; `None` stands for principal components."""
    n_columns = group.shape[1]
    if features is None:
        return list(range(n_columns)) if n_columns <= 2 else None
    one = isinstance(features, str) or not isinstance(features, Sequence | np.ndarray)
    given: list[Any] = [features] if one else list(features)  # type: ignore[arg-type]
    if len(given) not in (1, 2):
        msg = f"`features` must be one or two columns; got {len(given)}."
        raise MmdBoundsError(msg)
    return [_column(group, each) for each in given]


def _column(group: Group, feature: Feature) -> int:
    n_columns = group.shape[1]
    if isinstance(feature, str):
        known = group.columns or ()
        if feature not in known:
            there = f"there is no such column.{did_you_mean(feature, known)}"
            why = there if known else "`X` has no column names."
            msg = f"`features` must name columns of `X`; got {feature!r}: {why}"
            raise MmdBoundsError(msg)
        return known.index(feature)
    if isinstance(feature, bool) or not isinstance(feature, int | np.integer) or not 0 <= feature < n_columns:
        msg = f"`features` must be names, or whole numbers from 0 to {n_columns - 1}; got {feature!r}."
        raise MmdBoundsError(msg)
    return int(feature)


def principal(points: Float64s) -> tuple[Float64s, list[str]]:
    """Return points on their first two principal components, and what the axes are called."""
    centred = points - points.mean(axis=0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    # A component has no direction of its own: the largest weight is made positive.
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    directions = directions[:2] * np.where(largest[:2] < 0, -1.0, 1.0)
    shares = sizes**2 / max(float((sizes**2).sum()), 1e-300)
    names = [f"principal component {i + 1} ({percent(shares[i])} of variance)" for i in range(2)]
    return centred @ directions.T, names

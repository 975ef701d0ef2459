"""Rows of a drawn call: everyday ones, and those on which arithmetic breaks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

FAMILIES = ("normal", "whole numbers", "duplicates", "near duplicates", "constant column", "binary", "line")
KINDS = ("float64", "float32", "int64", "bool")
FAR = (1e10, 1e6, 1e7, 1e8, 1e12, 1e14, 1e16, 1e18, 1e30, 1e100, 1e150, 1e200, 1e300)


@dataclass(frozen=True)
class RowsSpec:
    """How rows are made: sizes, shape, scale, and the seed of the rest.

    Attributes
    ----------
    p, q, d
        Rows of X, rows of Y, columns.
    magnitude
        Power of ten that everything is multiplied by.
    offset
        Added to every entry, in units of the magnitude: how far from the origin all rows lie.
    far, n_far
        Where the last rows of Y lie instead, in units of the magnitude; 0 for nowhere else.
    kind
        Type of the array.
    """

    p: int
    q: int
    d: int
    family: str = "normal"
    magnitude: int = 0
    offset: float = 0.0
    far: float = 0.0
    n_far: int = 0
    kind: str = "float64"
    seed: int = 0

    @property
    def is_plain(self):
        """Whether nothing is unusual about the rows, so that they may not be refused."""
        return (
            (self.family, self.kind) == ("normal", "float64")
            and abs(self.magnitude) <= 3
            and not (self.offset or self.n_far)
        )

    def pooled(self):
        """Return the pooled rows, X first; entries that overflow are infinite."""
        rng = np.random.default_rng(self.seed)
        Z = rng.normal(size=(self.p + self.q, self.d))
        Z[self.p :] += rng.normal(size=self.d) * rng.integers(0, 2)
        Z = self._shaped(Z, rng)
        if self.n_far and self.far:
            direction = np.where(rng.random((self.n_far, self.d)) < 0.5, 1.0, rng.normal(size=self.d))
            Z[-self.n_far :] = Z[-self.n_far :] + self.far * direction
        with np.errstate(over="ignore", under="ignore"):
            return self._typed((Z + self.offset) * 10.0**self.magnitude)

    def _shaped(self, Z, rng):
        n = len(Z)
        match self.family:
            case "whole numbers":
                return np.round(2 * Z)
            case "duplicates":
                return Z[rng.integers(0, max(n // 3, 2), size=n)]
            case "near duplicates":
                return Z[rng.integers(0, max(n // 3, 2), size=n)] + 1e-9 * Z
            case "constant column":
                Z[:, 0] = Z[0, 0]
            case "binary":
                return (Z > 0).astype(float)
            case "line":
                return Z[:, :1] * np.ones(self.d)
        return Z

    def _typed(self, Z):
        match self.kind:
            case "float32":
                with np.errstate(over="ignore", under="ignore"):
                    return Z.astype(np.float32)
            case "int64":
                return np.clip(np.round(Z), -(2.0**62), 2.0**62).astype(np.int64)
            case "bool":
                return Z > 0
        return Z


def sizes(least, most):
    """Numbers of rows, small ones first when an example is made simpler."""
    return st.integers(least, most)


@st.composite
def row_specs(draw, p, q, *, columns=(1, 2, 3, 5, 20, 200), scales=True, always_far=False):
    """Draw how rows are made: many everyday ones, the rest with one thing or several out of the way."""
    spec = {
        "p": draw(p),
        "q": draw(q),
        "d": draw(st.sampled_from(columns)),
        "seed": draw(st.integers(0, 2**20)),
    }
    odd = draw(st.sets(st.sampled_from(("far", "family", "magnitude", "offset", "kind")), max_size=3))
    if "family" in odd:
        spec["family"] = draw(st.sampled_from(FAMILIES))
    if "kind" in odd:
        spec["kind"] = draw(st.sampled_from(KINDS))
    if scales and ("far" in odd or always_far):
        spec["far"] = draw(st.sampled_from(FAR))
        spec["n_far"] = draw(st.integers(1, min(3, spec["q"])))
    if scales and "magnitude" in odd:
        spec["magnitude"] = draw(
            st.sampled_from((0, 1, -1, 3, -3, 8, -8, 30, -30, 100, -100, 160, -160, 300, -300))
        )
    if scales and "offset" in odd:
        spec["offset"] = draw(st.sampled_from((0.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18)))
    return RowsSpec(**spec)

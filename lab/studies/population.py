r"""Two discrete distributions whose sharp bounds are known exactly.

X' and Y' live on a few atoms. With equal true sizes and alpha = epsilon / (1 + epsilon), Claim 1 of the paper
ranges over all distributions c on the atoms with :math:`0 \le c \le P_{Y'} / \alpha`, and the squared MMD
of the true groups is

.. math::
    w^\top K w, \quad w = (1 - \epsilon) P_{X'} - (1 + \epsilon) P_{Y'} + 2 \epsilon c.

It is convex in c. So the largest value is at a vertex, and there are few enough to try them all. The
smallest is inside one of the faces; on each face it solves a small linear system.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from mmdbounds.kernels import RBF
from mmdbounds.sums.protocol import Float64s

SLACK = 1e-12
"""How far a solution may leave the set by rounding."""


@dataclass(frozen=True)
class Population:
    """The distributions of X and Y as filed, on common atoms.

    Attributes
    ----------
    name
        In tables and figures.
    atoms
        Points of the plane.
    x, y
        Relative frequencies of the atoms among the rows of X and of Y.
    bandwidth
        Of the Gaussian kernel; fixed, so that the bounds of the population are fixed.
    """

    name: str
    atoms: tuple[tuple[float, float], ...]
    x: tuple[int, ...]
    y: tuple[int, ...]
    bandwidth: float = 1.5

    @property
    def points(self) -> Float64s:
        """The atoms as rows."""
        return np.array(self.atoms, dtype=np.float64)

    @property
    def share_x(self) -> Float64s:
        """Probability of each atom under X."""
        return np.array(self.x) / sum(self.x)

    @property
    def share_y(self) -> Float64s:
        """Probability of each atom under Y."""
        return np.array(self.y) / sum(self.y)

    @property
    def kernel(self) -> RBF:
        """The kernel."""
        return RBF(bandwidth=self.bandwidth)

    def draw(self, p: int, q: int, rng: np.random.Generator) -> tuple[Float64s, Float64s]:
        """Return independent rows of X and of Y as filed."""
        shares = ((p, self.share_x), (q, self.share_y))
        x, y = (rng.choice(len(self.atoms), size, p=share) for size, share in shares)
        return self.points[x], self.points[y]

    def exact(self, p: int, q: int) -> tuple[Float64s, Float64s]:
        """Return rows in exactly the right proportions; what a method makes of them is what it tends to."""
        x, y = (
            np.repeat(np.arange(len(self.atoms)), np.array(counts) * (size // sum(counts)))
            for size, counts in ((p, self.x), (q, self.y))
        )
        if (len(x), len(y)) != (p, q):
            msg = f"{p} and {q} rows cannot have the proportions of {sum(self.x)} and {sum(self.y)}"
            raise ValueError(msg)
        return self.points[x], self.points[y]


POPULATION_A = Population(
    "Population A",
    ((0, 2), (-1, -1), (-3, -3), (-2, -3), (-2, 3), (-1, 2)),
    x=(6, 2, 1, 4, 3, 4),
    y=(1, 2, 4, 3, 4, 6),
)
POPULATION_B = Population(
    "Population B",
    ((3, -1), (1, 3), (2, -2), (3, 1), (-1, -2), (-3, -1)),
    x=(2, 1, 6, 3, 3, 5),
    y=(6, 3, 1, 2, 4, 4),
)
POPULATIONS = (POPULATION_A, POPULATION_B)


def sharp_bounds(population: Population, epsilon: float) -> tuple[float, float]:
    """Return the smallest and the largest squared MMD of the true groups in the population."""
    problem = _Problem(population, epsilon)
    return problem.smallest(), problem.largest()


class _Problem:
    """A convex quadratic over the distributions c between 0 and a cap."""

    def __init__(self, population: Population, epsilon: float) -> None:
        Z = population.points
        self.K = np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2) / (2 * population.bandwidth**2))
        self.scale = 2 * epsilon
        self.fixed = (1 - epsilon) * population.share_x - (1 + epsilon) * population.share_y
        self.cap = population.share_y * (1 + epsilon) / epsilon

    def value(self, c: Float64s) -> float:
        w = self.fixed + self.scale * c
        return float(w @ self.K @ w)

    def largest(self) -> float:
        """Try every vertex: each atom at 0 or at its cap, but for the one that takes the rest."""
        best = -np.inf
        for full in itertools.product((0.0, 1.0), repeat=len(self.cap)):
            c = np.array(full) * self.cap
            for i in np.flatnonzero(c == 0):
                rest = 1 - c.sum()
                if -SLACK <= rest <= self.cap[i] + SLACK:
                    best = max(best, self.value(c + rest * (np.arange(len(c)) == i)))
        return best

    def smallest(self) -> float:
        """Try every face: atoms at 0, atoms at their cap, and the best of the others if it is feasible."""
        best = np.inf
        for places in itertools.product((0, 1, 2), repeat=len(self.cap)):
            c = np.where(np.array(places) == 2, self.cap, 0.0)
            free = np.flatnonzero(np.array(places) == 1)
            if len(free):
                c[free] = self._stationary(c, free)
            if abs(c.sum() - 1) < SLACK and np.all(c >= -SLACK) and np.all(c <= self.cap + SLACK):
                best = min(best, self.value(c))
        return best

    def _stationary(self, c: Float64s, free: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Float64s:
        """Return the free part at which the gradient is the same for all free atoms, and the sum is 1."""
        k = len(free)
        system = np.ones((k + 1, k + 1))
        system[:k, :k] = self.scale * self.K[np.ix_(free, free)]
        system[k, k] = 0.0
        right = np.append(-self.K[free] @ (self.fixed + self.scale * c), 1 - c.sum())
        return np.asarray(np.linalg.solve(system, right)[:k], dtype=np.float64)

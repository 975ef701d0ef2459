r"""The squared MMD of the true populations as a function of how hidden rows differ from the filed ones.

Let the misfiled rows be distributed like the rows of X with weights w of mean 1, whose largest is at most R
times the smallest. With kappa = 1 - (1 - epsilon)(1 - eta), eta the share of Y that is misfiled, the mean
embeddings of the true groups differ by

.. math::
    \frac{1}{1 - \eta} \Big( \mu_X - \mu_Y + \frac{\kappa}{p} \sum_i t_i \, k(x_i, \cdot) \Big),
    \qquad t = w - 1, \quad \sum_i t_i = 0 .

The square of the bracket, on the scale of the groups as filed, is a quadratic in t; the unbiased estimator
leaves out i = j:

.. math::
    f(t) = \mathrm{mmd}^2 + \frac{2 \kappa}{p} a't + \beta \Big( t'Kt - o \sum_i k_{ii} t_i^2 \Big),
    \qquad \beta = \frac{\kappa^2}{p (p - o)},

a the witness at the rows of X (for o = 1 without the row itself). The weights are a polytope: its vertices
have k rows at R times the weight of the others, for some k. So a linear function is extreme at one of p + 1
vertices (`Weights.extreme`), whatever the level of the weights. The last term lies between 0 and a known
number; the rest, g, is convex (docs/odds.md).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mmdbounds.objective import GroupSums, observed_mmd2
from mmdbounds.results import Estimator
from mmdbounds.sums.protocol import Float64s

MOST_STEPS = 500  # vertices tried in the search for the smallest value
MOST_SHIFTS = 50  # for each vertex of a mixture
ALIKE = 1e-14  # slopes that differ by less, relative to the largest, are equal
MOST_BOXES = 1000  # split in the proof above
MOST_DIRECTIONS, FIRST_DIRECTIONS = 80, (0, 1, 2, 3, 5, 8, 13, 21, 34, 55)  # of which it looks closer at some
MOST_LOWERED = 1000  # rows of X up to which the smallest eigenvalue is used below
MOST_PROVED = 3000  # rows of X up to which there is a proof above: it takes their kernel matrix apart
CLOSE_BELOW, CLOSE_ABOVE = (
    1e-4,
    1e-3,
)  # how near proofs come where they can, as a share of the change from f(0)
TAIL = 1e-3  # share of the same that the directions left out may add
STARTS = 12  # of the search for the largest value


class Extreme(NamedTuple):
    """An extreme on the scale as filed: the value that the weights reach, a proof, and the weights less 1."""

    value: float
    certified: float | None
    t: Float64s


@dataclass(frozen=True)
class Weights:
    """The polytope of `p` weights of mean 1 whose largest is at most `ratio` times the smallest."""

    p: int
    ratio: float

    @property
    def most_variance(self) -> float:
        """The largest variance of such weights: (R - 1)^2 / 4 R, unless one row has all the weight before."""
        return min((self.ratio - 1) ** 2 / (4 * self.ratio), self.p - 1.0)

    def extreme(self, scores: Float64s, of_square: float = 0.0) -> Float64s:
        """Return the vertex, less 1, with the largest scores't + of_square t't.

        Where `of_square` is not negative, no other weights have more.
        """
        order = np.argsort(-scores, kind="stable")
        k, more = np.arange(self.p + 1), self.ratio - 1
        centred = scores - scores.mean()  # which changes no difference, as the weights' sum is fixed
        sums = self.p * more * np.concatenate([[0.0], np.cumsum(centred[order])]) / (self.p + k * more)
        if of_square:
            levels = self.p / (self.p + k * more)
            sums += of_square * self.p * (1 - levels) * (self.ratio * levels - 1)
        n_high = int(np.argmax(sums))
        level = self.p / (self.p + n_high * more)
        t = np.full(self.p, level - 1)
        t[order[:n_high]] = self.ratio * level - 1
        return t


class Convex(NamedTuple):
    """The convex part of the quadratic, less its value at t = 0: linear't + beta t'Kt, over `weights`."""

    weights: Weights
    linear: Float64s
    beta: float


class HiddenWeights:
    """The quadratic of this module for two groups as filed; everything on their scale."""

    def __init__(self, totals: GroupSums, estimator: Estimator) -> None:
        p, self.o = totals.p, 1 if estimator == "unbiased" else 0
        self.p, self._sums, self._of_x = p, totals.sums, slice(0, p)
        self.observed = observed_mmd2(totals, estimator)
        self._rounding = totals.value_margin
        # Weights are not negative and their mean is 1: a value is three means, and a proof compares two
        # of them by a gradient, which is twice a difference of means.
        self.margin = 4 * totals.margin
        self._diagonal = totals.diagonal[:p]
        within = (totals.to_x[:p] - self.o * self._diagonal) / (p - self.o)
        self._witness: Float64s = within - totals.to_y[:p] / totals.q

    def value(self, t: Float64s, kappa: float) -> float:
        """Return f(t)."""
        beta = kappa**2 / (self.p * (self.p - self.o))
        pairs = float(t @ self._product(t)) - self.o * float(self._diagonal @ t**2)
        return self.observed + 2 * kappa / self.p * float(self._witness @ t) + beta * pairs

    def lower(self, kappa: float, ratio: float) -> Extreme:
        """Return the smallest value, with a proof that lies close to what the convex part reaches.

        Frank and Wolfe's steps: the gradient names the best vertex, and proves how much less any weights
        could reach; then the best mixture of the vertices used so far is taken.
        """
        convex = self._convex(kappa, ratio)
        weights, linear, beta = convex
        mixture = Mixture(linear, beta)
        mixture.add(start := weights.extreme(-linear), self._lowered(start))
        proved = -np.inf
        for _ in range(MOST_STEPS):
            t = mixture.t
            slope = linear + 2 * beta * mixture.with_t
            value = float(linear @ t + beta * (t @ mixture.with_t))
            into = weights.extreme(-slope)
            proved = max(proved, value + float(slope @ (into - t)))
            if value - proved <= max(CLOSE_BELOW * abs(value), self._rounding):
                break
            mixture.add(into, self._lowered(into))
        left = float(self._diagonal.max()) - self._least if self.o else 0.0
        left_out = beta * self.p * weights.most_variance * left
        certified = self.observed + proved - left_out - self.margin
        return Extreme(self.value(mixture.t, kappa), certified, mixture.t)

    def upper(self, kappa: float, ratio: float) -> Extreme:
        """Return the largest value found; with up to `MOST_PROVED` rows a number that no weights exceed."""
        convex = self._convex(kappa, ratio)
        found = [self._ascended(convex, scores) for scores in self._starts(convex)]
        value, t = best = max(((self.value(t, kappa), t) for t in found), key=lambda each: each[0])
        # Without the diagonal, weights that differ less can give more.
        less = self._convex(kappa, ratio / 2)
        while self.o and less.weights.ratio > 1:
            t = self._ascended(less, t)
            value, t = best = max(best, (self.value(t, kappa), t), key=lambda each: each[0])
            less = self._convex(kappa, less.weights.ratio / 2)
        certified = None
        if self.p <= MOST_PROVED:
            certified = self.observed + self._ceiling(convex, value - self.observed) + self.margin
        return Extreme(value, certified, t)

    def _convex(self, kappa: float, ratio: float) -> Convex:
        beta = kappa**2 / (self.p * (self.p - self.o))
        return Convex(Weights(self.p, ratio), 2 * kappa / self.p * self._witness, beta)

    def _product(self, t: Float64s) -> Float64s:
        """Return K t for the rows of X."""
        return np.asarray(self._sums.apply(self._of_x, self._of_x, t))

    def _lowered(self, t: Float64s) -> Float64s:
        """Return K t with the diagonal lowered as far as the function stays convex."""
        return self._product(t) - self._least * t

    def _starts(self, convex: Convex) -> list[Float64s]:
        """Return scores whose extreme vertices the search for the largest value starts from."""
        rows = np.unique(np.linspace(0, self.p - 1, STARTS).astype(np.intp))
        # Rows spread along the witness: those near one of them are weighted up together.
        spread = np.argsort(self._witness, kind="stable")[rows]
        return [convex.linear, -convex.linear, *self._sums.block(spread, self._of_x)]

    def _ascended(self, convex: Convex, scores: Float64s) -> Float64s:
        """Return a vertex where f is locally largest: no step to the vertex that the gradient names gains."""
        weights, linear, beta = convex
        own = -self.o * beta * float(self._diagonal.mean())
        value, t, into = -np.inf, np.zeros(self.p), weights.extreme(scores)
        while True:
            with_t = self._product(into)
            new = float(linear @ into + beta * (into @ with_t) - self.o * beta * (self._diagonal @ into**2))
            if new <= value + self._rounding:
                return t
            value, t, into = new, into, weights.extreme(linear + 2 * beta * with_t, own)

    @cached_property
    def _directions(self) -> tuple[Float64s, Float64s]:
        """Return the largest eigenvalues of the centred kernel matrix, descending, and their vectors.

        One value more than vectors: no other is larger. The unbiased estimator has no diagonal, which takes
        as much from each of them.
        """
        from scipy.linalg import eigh

        K = np.array(self._sums.block(self._of_x, self._of_x))
        K -= K.mean(axis=0)
        K -= K.mean(axis=1)[:, None]
        first = max(self.p - MOST_DIRECTIONS - 1, 0)
        values, vectors = eigh(K, subset_by_index=[first, self.p - 1], overwrite_a=True)
        values = np.maximum(values[::-1] - self.o * self._diagonal.min(), 0.0)
        return values, np.ascontiguousarray(vectors.T[::-1][:-1])

    @cached_property
    def _least(self) -> float:
        """A number up to which the diagonal can be lowered while the kernel matrix stays definite."""
        from scipy.linalg import eigvalsh

        if not self.o or self.p > MOST_LOWERED:
            return 0.0
        values = eigvalsh(self._sums.block(self._of_x, self._of_x))
        least = values[0] - self.p * np.finfo(np.float64).eps * values[-1] - self.p * self._rounding
        return max(float(least), 0.0)

    def _ceiling(self, convex: Convex, best: float) -> float:
        """Return a number that f - f(0) does not exceed, close to `best` if that can be proved.

        t'Kt is a sum of squares along the directions. On a range of values along one of them a square lies
        below its chord, which is linear; so over a box of ranges the whole lies below a linear function,
        whose maximum is known. The box whose maximum is largest is split, again and again. Along all but the
        first few directions t'Kt is at most their largest eigenvalue times the squared length of t. How many
        are first is tried out.
        """
        values = self._directions[0]
        tails = convex.beta * self.p * convex.weights.most_variance * values
        enough = int(np.argmax(tails <= max(TAIL * best, tails[-1])))
        numbers = sorted({*(n for n in FIRST_DIRECTIONS if n < enough), enough})
        roots = [Boxes(convex, self._directions, n) for n in numbers]
        tightest = min(roots, key=lambda boxes: boxes.maximum)
        wanted = best + CLOSE_ABOVE * abs(best)
        proved = min(boxes.split(wanted) for boxes in {tightest, roots[-1]})
        # The matrix is taken apart to within p eps times its largest eigenvalue.
        return proved + self.p * np.finfo(np.float64).eps * (float(tails[0]) + abs(proved))


class Boxes:
    """Boxes of ranges along the first directions that cover all weights, and a maximum over each."""

    def __init__(self, convex: Convex, directions: tuple[Float64s, Float64s], n_used: int) -> None:
        self._weights, self._linear, beta = convex
        self._tail = beta * float(directions[0][n_used])
        self._scale = beta * directions[0][:n_used] - self._tail
        self._used = directions[1][:n_used]
        high, low = (
            np.array([v @ self._weights.extreme(sign * v) for v in self._used]) for sign in (1.0, -1.0)
        )
        self._boxes: list[tuple[float, int, Float64s, Float64s, Float64s]] = []
        self._n_made = 0  # so that boxes with the same maximum can be told apart
        self._add(low, high)

    @property
    def maximum(self) -> float:
        """The largest of all: a ceiling."""
        return -self._boxes[0][0]

    def _add(self, low: Float64s, high: Float64s) -> None:
        """Add a box: minus its maximum, and where along the directions that is."""
        scores = self._linear + (self._scale * (low + high)) @ self._used
        t = self._weights.extreme(scores, self._tail)
        most = float(scores @ t - self._scale @ (low * high) + self._tail * (t @ t))
        heapq.heappush(self._boxes, (-most, self._n_made, low, high, self._used @ t))
        self._n_made += 1

    def split(self, wanted: float) -> float:
        """Split the box with the largest maximum until it is no larger than `wanted`; return the maximum."""
        for _ in range(MOST_BOXES):
            _, _, low, high, at = self._boxes[0]
            slack = self._scale * (at - low) * (high - at)
            if self.maximum <= wanted or not slack.size or slack.max() <= 0:
                break
            heapq.heappop(self._boxes)
            k = int(np.argmax(slack))
            for part in (0, 1):
                ends = [low.copy(), high.copy()]
                ends[1 - part][k] = at[k]
                self._add(*ends)
        return self.maximum


class Mixture:
    """The best mixture of some vertices: the smallest convex part over their hull."""

    def __init__(self, linear: Float64s, beta: float) -> None:
        self._linear, self._beta = linear, beta
        self._vertices, self._columns = np.empty((0, len(linear))), np.empty((0, len(linear)))
        self._shares = np.empty(0)

    @property
    def t(self) -> Float64s:
        """The mixture."""
        return np.asarray(self._shares @ self._vertices)

    @property
    def with_t(self) -> Float64s:
        """K times it."""
        return np.asarray(self._shares @ self._columns)

    def add(self, vertex: Float64s, column: Float64s) -> None:
        """Add a vertex, with K times it, find the best mixture, and forget vertices without a share."""
        self._vertices = np.vstack([self._vertices, vertex])
        self._columns = np.vstack([self._columns, column])
        self._shares = np.append(self._shares, 0.0 if len(self._shares) else 1.0)
        self._settle()
        kept = self._shares > 0
        self._vertices, self._columns = self._vertices[kept], self._columns[kept]
        self._shares = self._shares[kept] / self._shares.sum()

    def _settle(self) -> None:
        """Shift shares from the worst vertex to the best, each time as far as it helps."""
        shares, pairs = self._shares, 2 * self._beta * self._vertices @ self._columns.T
        slope = self._vertices @ self._linear + pairs @ shares
        for _ in range(MOST_SHIFTS * len(shares)):
            used = np.flatnonzero(shares > 0)
            worst, best = int(used[np.argmax(slope[used])]), int(np.argmin(slope))
            gain = slope[worst] - slope[best]
            if gain <= ALIKE * np.abs(slope).max():
                return
            curvature = pairs[worst, worst] + pairs[best, best] - pairs[worst, best] - pairs[best, worst]
            step = shares[worst] if curvature * shares[worst] <= gain else gain / curvature
            shares[worst], shares[best] = shares[worst] - step, shares[best] + step
            slope += step * (pairs[:, best] - pairs[:, worst])

r"""The ceiling for any number of rows: multipliers that are learned on samples and proved on all rows.

The ceiling holds for *every* antisymmetric :math:`\lambda`, so it may be a function of two rows with few
parameters (docs/sharp.md, "Multipliers that are learned"). In units of c,

.. math::
    \lambda_{ij} = e_i \cdot h_j - h_i \cdot e_j + \psi_i - \psi_j,
    \qquad [e, h, \psi, v]_i = \mathrm{features}_i A,

which is antisymmetric whatever A is. The squares :math:`(\sum_i v_i t_i)^2` are added to the gain of a
labelling t: they are not negative, so what bounds the sum bounds the gain. A is fitted on samples of the
active rows, each of which stands for many. The proof is one pass over all pairs: for any threshold t the k
largest of some numbers add up to at most k t plus what the numbers exceed t by, and that is a plain sum.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator

import numpy as np

from mmdbounds.objective import Indices, Labelling, Quadratic
from mmdbounds.search.protocol import Part, RowBounds, limits_within, top_sum
from mmdbounds.search.sharp.learned_ranks import Fitted, by_stratum, chosen, limits_of_some, rank
from mmdbounds.search.sharp.pair_factors import LENGTH, RANK, SQUARES, STRIP, PairFactors, factors, parted
from mmdbounds.search.sharp.quota_problem import Effort
from mmdbounds.search.sharp.starting_points import sample
from mmdbounds.sums import plan
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.rounding import FORMULA, sum_error, unit_roundoff
from mmdbounds.sums.threads import in_order, threads_for

LANDMARKS = 256  # rows whose kernel values are features of all others...
POWERS = (1, 4, 16)  # ... and powers of them, which for RBF are kernels of 1/2 and 1/4 of the bandwidth
GATE, STEEP = 6.0, 4.0  # how sharply features tell rows that move from rows that stay
STRIP_ROWS = 256  # rows of a sample that a thread works on
MEASURED_ROWS = 3000  # rows from which the spread of the features is known
WHITENED = 0.4  # how much features of small spread are enlarged: 0 not at all, 1 until all spread alike
LEAST_VARIANCE = 1e-6  # of a feature, beside the largest one
STEPS, SAMPLED, SAMPLES = 200, 1600, 8  # steps, the rows of a sample, and how many samples take turns
MANY, MORE = (3.7, 5.0), 1.4  # logarithms of the numbers of rows between which both grow, and how much
MATRICES = 16  # of a sample's size that are there at a time
RATE, FIRST_SIZE = 0.05, 0.03  # length of the first step, and size of the parameters before it
MEAN, SQUARE = 0.9, 0.98  # how much of the mean of gradients, and of their squares, is kept at a step (Adam)
PROMISED = 0.5  # of the slack: multipliers fit the samples better than other rows...
SPREADS = 3.0  # ... which may be as unlike the samples as these are unlike each other
LAST_WIDTH = 3e-2  # width within which rows count in part, at the last step beside the first
NARROW = 1e-3  # as in `ceiling`
RANKED_COLUMNS = 1000  # columns by which the thresholds of a row are chosen
FEWEST = 4  # rows of a group below which nothing is fitted
FITTED, PROVED = 1.5, 1.0  # work of a pair in a step, and in the proof


class LearnedMultipliers:
    """Multipliers for the rows that may move, fitted where the best labelling that is known has its rows."""

    def __init__(self, labelling: Labelling, seed: int) -> None:
        f, n = labelling.quadratic, len(labelling.sign)
        self._labelling = labelling
        self.row_bounds: RowBounds | None = None  # of the last ceiling
        self._sums, self._scale = f.totals.sums.precise, f.totals.scale
        self._constant, alone, self._parts = labelling.chosen_alone()
        self._by_those_that_stay = self._parts != labelling.parts()
        self._linear = alone / f.c
        self._standing = self._standings()
        self._rng = np.random.default_rng([seed, n])
        self._landmarks = self._some(n, LANDMARKS)
        here = labelling.pooled(self._landmarks)
        among = self._sums.block(here, here)
        self._unit = max(float(among.std()), 1e-9 * self._scale)  # of multipliers: a typical difference
        some = self._some(n, MEASURED_ROWS)
        self._centre, self._basis = self._measured(self._raw_features(some, self._to_landmarks(some)))
        shape = self._basis.shape[1] + 1, LENGTH
        self._parameters: Float64s = FIRST_SIZE * self._rng.standard_normal(shape) / np.sqrt(shape[0])

    def fit(self, gain: float, slack: float, patience: float, effort: Effort) -> None:
        """Fit the parameters in some hundred steps, each on some rows; `gain` is what a labelling reaches.

        As in `ceiling`, rows near a threshold count in part, within a width that shrinks from step to step.
        Steps end early once the samples promise a bound well within `slack` of the gain, however much their
        bounds differ.
        """
        if self._unit == 0 or any(part.stop - part.start < FEWEST for part, _ in self._parts):
            return  # nothing to learn from: all kernel values are 0, or there are too few rows
        f, n = self._labelling.quadratic, len(self._linear)
        room = self._sums.working_memory * plan.MIB / 2 / (8 * MATRICES)
        n_steps, n_sampled = steps_and_rows(n, patience)
        n_sampled = min(n_sampled, int(np.sqrt(room)))
        samples = [self._sample(n_sampled) for _ in range(SAMPLES if n_sampled < n else 1)]
        bound = self._constant + f.c * self._unit * self._rises(samples[0], NARROW)[0]
        n_chosen = sum(quota for _, quota in self._parts)
        width = max((bound - gain) / (f.c * self._unit * n_chosen**2), NARROW)
        mean, square = np.zeros_like(self._parameters), np.zeros_like(self._parameters)
        enough = (gain + PROMISED * slack - self._constant) / (f.c * self._unit)
        last: collections.deque[float] = collections.deque(maxlen=len(samples))
        for step in range(n_steps):
            fitted = samples[step % len(samples)]
            bound, rises = self._rises(fitted, width * LAST_WIDTH ** (step / n_steps))
            effort.spend(FITTED * n_sampled**2)
            last.append(bound)
            if len(last) == len(samples) and np.mean(last) + SPREADS * np.std(last) <= enough:
                break
            gradient = fitted.features.T @ rises
            mean += (1 - MEAN) * (gradient - mean)
            square += (1 - SQUARE) * (gradient * gradient - square)
            length = RATE * (1 - step / n_steps) / (1 - MEAN ** (step + 1))
            size = np.sqrt(square / (1 - SQUARE ** (step + 1)))
            self._parameters -= length * mean / np.maximum(size, np.finfo(np.float64).tiny)

    def forget(self) -> None:
        """Set all multipliers to 0: each row counts on its best partners, whatever they count on."""
        self._parameters = np.zeros_like(self._parameters)

    def ceiling(self, quadratic: Quadratic, effort: Effort) -> float:
        """Return a value that no labelling exceeds, with sums of `quadratic`: one pass over active rows."""
        f, added, limits = quadratic, self._factors(), self._labelling.limits()
        squares, own = added.squares, f.totals.diagonal[self._labelling.active]
        last, above = np.zeros((2, 2, len(squares)))  # of partners in X and in Y
        # Thresholds below 0 and what exceeds them cancel in the scores, their rounding does not: `sizes` are
        # of all that is added up, a row's own value included, which the sums hold before it is taken away.
        scores, sizes = self._linear + squares, np.abs(self._linear) + squares + np.abs(own)
        # Other counts may move rows of a group of which these move none: its rows are partners, too.
        for part, _ in self._active_groups():
            for other, quota in self._active_groups():
                count, group = max(quota - (other == part), 0), int(self._labelling.sign[other.start] > 0)
                last[group, part], above[group, part] = self._partners(f, added, (part, other), count)
                effort.spend(PROVED * (part.stop - part.start) * (other.stop - other.start))
                if quota:
                    scores[part] += count * last[group, part] + above[group, part]
                    sizes[part] += np.abs(quota * last[group, part]) + above[group, part]
        n_chosen, of_pair = sum(quota for _, quota in self._parts), self._pair_error(added.largest)
        self.row_bounds = RowBounds(last, above, squares, of_pair)
        # Beyond `Quadratic.margin` (docs/rounding.md): pairs that a labelling consists of, and sums.
        summed = lost_by_sums(len(sizes)) * top_sum(sizes, self._parts)
        rounding = f.c * (n_chosen**2 * of_pair + summed)
        return self._constant + f.c * top_sum(scores, self._parts, limits) + rounding

    def _active_groups(self) -> list[tuple[slice, int]]:
        """Return the active rows of each group, with the number that moves: it may be none."""
        if self._by_those_that_stay:
            return self._parts
        n_x, counts = self._labelling.n_active_x, self._labelling.quadratic.counts
        both = (slice(0, n_x), counts.n_moved_of_x), (slice(n_x, len(self._linear)), counts.n_moved)
        return [(part, quota) for part, quota in both if part.stop > part.start]

    def _partners(
        self, f: Quadratic, added: PairFactors, groups: tuple[slice, slice], count: int
    ) -> tuple[Float64s, Float64s]:
        """Return for each row of a group a threshold, and by how much partners in the other exceed it.

        With limits, rows of a stratum that may be full exceed a threshold of its own, which is at least the
        other one; for each of its places the distance of both counts as well.
        """
        part, other = groups
        if other == part and part.stop - part.start == 1:  # nobody is there
            return np.zeros(1), np.zeros(1)
        found = self._thresholds(groups, count, added)
        thresholds, excess = found[:, 0], np.zeros(len(found))
        for h, (stratum, most) in enumerate(self._strata(other), start=found.shape[1] > 1):
            higher = found[:, h]
            more = self._excess(
                f, added, part, slice(other.start + stratum.start, other.start + stratum.stop), higher
            )
            places = np.full(len(more), most)
            if other == part:  # a row is no partner of its own
                own = f.totals.diagonal[self._labelling.active][part] + added.squares[part]
                more[stratum] -= np.maximum(own - higher, 0.0)[stratum]
                places[stratum] = max(most - 1, 0)
            excess += more if h == 0 else more + places * (higher - thresholds)
        return thresholds, excess

    def _excess(
        self, f: Quadratic, added: PairFactors, rows: slice, partners: slice, thresholds: Float64s
    ) -> Float64s:
        """Return by how much partners exceed the threshold of each row, a part of both at a time."""
        sign = float(self._labelling.sign[rows.start] * self._labelling.sign[partners.start])
        result, start = np.zeros(len(thresholds)), self._labelling.active.start
        for i, i_end in added.parts(rows):
            here, left = slice(i - rows.start, i_end - rows.start), added.left(np.arange(i, i_end))
            levels, mine = thresholds[here, None], slice(start + i, start + i_end)
            for j, j_end in added.parts(partners):
                right, theirs = added.right(np.arange(j, j_end)), slice(start + j, start + j_end)
                result[here] += f.totals.sums.excess(mine, theirs, left, right, levels, sign)[:, 0]
        return result

    def _strata(self, part: slice) -> list[Part]:
        """Return the strata of a group as places in it; without limits it is one."""
        size = part.stop - part.start
        return limits_within(self._labelling.limits(), part) or [(slice(0, size), size)]

    def _thresholds(self, groups: tuple[slice, slice], count: int, added: PairFactors) -> Float64s:
        """Return about what the last of `count` partners of each row has, from some of the columns.

        With limits, it is followed by what the last one of each stratum has, if that is more.
        """
        labelling, (part, other) = self._labelling, groups
        size, sign = other.stop - other.start, labelling.sign[part.start] * labelling.sign[other.start]
        some = self._some(size, RANKED_COLUMNS)
        most = max(len(some) - (other == part), 1)  # a row is no partner of its own
        first = len(some) - int(np.clip(round(count * len(some) / size), 1, most))
        limits = limits_of_some(limits_within(labelling.limits(), other), some)
        here, theirs = labelling.pooled(other.start + some), added.right(other.start + some).T

        def blocks() -> Iterator[tuple[int, Float64s, Float64s]]:
            for i, j in plan.strips([part.start, part.stop], STRIP):
                rows = np.arange(i, j)
                yield i - part.start, self._sums.block(labelling.pooled(rows), here), added.multipliers(rows)

        def lowest(block: tuple[int, Float64s, Float64s]) -> Float64s:
            start, values, multipliers = block
            x = sign * values + factors(multipliers)[0] @ theirs
            if other == part:
                own = np.flatnonzero((some >= start) & (some < start + len(values)))
                x[some[own] - start, own] = -np.inf
            if limits:
                return by_stratum(x, limits, len(some) - first)
            return np.partition(x, first, axis=1)[:, [first]]

        return np.concatenate(
            [found for _, found in in_order(blocks(), lowest, threads_for(size * len(here)))]
        )

    def _pair_error(self, added: float) -> float:
        """Return how far rounding can move what is added up for a pair, in units of c."""
        n_operations = 2 * RANK + SQUARES + FORMULA
        return n_operations * unit_roundoff("float64") * (added + self._scale)

    def _standings(self) -> Float64s:
        """Return how far each row is from the last one that the gradient lets move, in typical distances."""
        labelling = self._labelling
        result = labelling.sign * labelling.gradient() * (-1.0 if self._by_those_that_stay else 1.0)
        for part, quota in self._parts:
            here, first = result[part], part.stop - part.start - quota
            here -= np.partition(here, first)[first]
            here /= max(float(here.std()), np.finfo(np.float64).tiny)
        return result

    def _some(self, n: int, count: int) -> Indices:
        return np.sort(self._rng.choice(n, min(count, n), replace=False))

    def _to_landmarks(self, rows: Indices) -> Float64s:
        """Return the kernel values of some rows with the landmarks."""
        return self._sums.block(self._labelling.pooled(rows), self._labelling.pooled(self._landmarks))

    def _raw_features(self, rows: Indices, to_landmarks: Float64s) -> Float64s:
        """Return what is known of some rows: how near they are to the landmarks, and to moving."""
        labelling, standing = self._labelling, self._standing[rows, None]
        values = to_landmarks / (self._scale or 1.0)
        near = np.hstack([values**power for power in POWERS])
        gate = 0.5 + 0.5 * np.tanh(0.5 * GATE * standing)
        raw = np.hstack([near, near * gate, standing, np.tanh(STEEP * standing)])
        if len(self._parts) == 1:
            return raw
        is_x = labelling.sign[rows, None] < 0  # rows of X and of Y have parameters of their own
        return np.hstack([raw * is_x, raw * ~is_x, is_x])

    def _measured(self, raw: Float64s) -> tuple[Float64s, Float64s]:
        """Return the mean of raw features, and a basis in which they spread less unevenly."""
        centre = raw.mean(axis=0)
        variances, directions = np.linalg.eigh((raw - centre).T @ (raw - centre) / len(raw))
        kept = variances > max(LEAST_VARIANCE * variances[-1], np.finfo(np.float64).tiny)
        spread = np.sqrt(variances[kept])
        return centre, directions[:, kept] / (spread**WHITENED * spread.max(initial=1.0) ** (1 - WHITENED))

    def _features(self, rows: Indices, to_landmarks: Float64s) -> Float64s:
        """Return what the multipliers of some rows are made of, shape (n, D)."""
        raw = self._raw_features(rows, to_landmarks)
        return np.hstack([(raw - self._centre) @ self._basis, np.ones((len(rows), 1))])

    def _sample(self, n_rows: int) -> Fitted:
        drawn = sample(self._labelling, n_rows, self._rng, self._parts)
        drawn.values[:] /= self._unit
        np.fill_diagonal(drawn.values, 0.0)
        linear, n_groups = self._linear[drawn.rows] / self._unit, len(drawn.limits or drawn.parts)
        features = self._features(drawn.rows, self._to_landmarks(drawn.rows))
        return Fitted(drawn, features, linear, np.zeros((len(linear), n_groups)))

    def _rises(self, fitted: Fitted, width: float) -> tuple[float, Float64s]:
        """Return the bound of a sample, and by how much it rises with the multipliers of each of its rows."""
        multipliers, some = fitted.features @ self._parameters, fitted.sample
        left, right = factors(multipliers)
        x, spans = np.empty_like(some.values), plan.strips([0, len(left)], STRIP_ROWS)
        scores = fitted.linear + (parted(multipliers)[3] ** 2).sum(axis=1)

        def ranked(span: tuple[int, int]) -> None:
            rows = slice(*span)
            np.matmul(left[rows], right.T, out=x[rows])
            x[rows] += some.values[rows]
            np.fill_diagonal(x[rows, rows], -np.inf)  # no row is its own partner
            rank(fitted, x[rows], rows, width, scores)

        n_threads = threads_for(x.size)
        collections.deque(in_order(spans, ranked, n_threads), maxlen=0)
        bound, share = chosen(fitted, scores, width)
        e, h, level, v = parted(multipliers)
        against, alike = np.hstack([h, -e, np.ones_like(level)]), v

        def rising(span: tuple[int, int]) -> tuple[float, Indices, Float64s, Float64s]:
            """Return how much rows count on all others, by how many rows both stand for, and what follows."""
            rows = span[0] + np.flatnonzero(share[slice(*span)])
            counts_on = x[rows]
            for k, (columns, _) in enumerate(some.limits or some.parts):
                counts_on[:, columns] -= fitted.thresholds[rows, k, None] - 0.5 * width
            counts_on /= width
            counts_on.clip(0.0, 1.0, out=counts_on)
            counts_on *= share[rows, None]
            counts_on *= some.weights
            total = counts_on.sum()
            both = np.hstack([against, alike])
            return total, rows, counts_on @ both, counts_on.T @ both[rows]

        total, rises = 0.0, np.zeros_like(multipliers)
        sign = np.concatenate([np.full(2 * RANK + 1, -1.0), np.ones(SQUARES)])
        for _, (more, rows, here, there) in in_order(spans, rising, n_threads):
            total += more
            rises[rows] += here
            rises += sign * there
        rises[:, 2 * RANK + 1 :] += 2 * share[:, None] * v
        return bound, rises / (total or 1.0)  # within limits, a row may have no partner

    def _factors(self) -> PairFactors:
        """Return what all active rows add to pairs, in units of c."""
        units = np.repeat([self._unit, 1.0, self._unit, self._unit**0.5], [RANK, RANK, 1, SQUARES])

        def multipliers(rows: Indices, to_landmarks: Float64s) -> Float64s:
            return np.asarray(self._features(rows, to_landmarks) @ self._parameters * units)

        return PairFactors(self._to_landmarks, multipliers, len(self._linear), self._sums.working_memory)


def steps_and_rows(n_active: int, patience: float = 1.0) -> tuple[int, int]:
    """Return in how many steps multipliers are fitted, and on how many rows each of them."""
    more = np.interp(np.log10(n_active), MANY, (1.0, MORE)) * max(patience, 1.0) ** 0.25
    return round(STEPS * more), min(n_active, round(SAMPLED * more))


def lost_by_sums(n_active: int) -> float:
    """Return what sums over the columns of a row, and then over rows, lose of the sizes that they add up."""
    return 2 * sum_error(n_active, plan.BLOCK_ROWS * 16, "float64")

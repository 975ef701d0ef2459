r"""The form in which extremes are proved: rows to choose with quotas, and branch and bound on them.

Let t mark the rows that change group, :math:`\sigma` be +1 for rows of Y and -1 for rows of X. The squared
MMD, on the lower side with a minus, is exactly

.. math::
    \mathrm{gain}(t) = \mathrm{constant} + \sum_i a_i t_i + \sum_{i \ne j} w_{ij} t_i t_j,
    \qquad a_i = \sigma_i g_i(u_0) + c\,k_{ii}, \quad w_{ij} = c\,\sigma_i \sigma_j k_{ij}.

The diagonal of K is in the linear part, so K need not be definite. A relaxation (`floor`, `ceiling`) bounds
what each row can add (`ScoreBound`). Branch and bound makes it tight (docs/sharp.md, "Branch and bound:
closing the gap"): rows that cannot be in a better choice, or missing from it, are settled; otherwise the
problem with the largest bound is split on the row about which its relaxation is least decided.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from mmdbounds.objective import Indices, Labelling, Mask
from mmdbounds.progress import Meter
from mmdbounds.results import Side
from mmdbounds.search.protocol import NO_ROWS, Part, limits_left, outwards, top_places, top_sum
from mmdbounds.sums.protocol import Float64s

# Arrays from which a relaxation continues: one entry, or one row and column, for each open row.
State = tuple[Float64s, ...]
OVERHEAD = 30_000  # work that a problem costs beside its relaxation
ROUND = 0.1  # rounds at the root continue while each takes this share off the distance to the gain


@dataclass(frozen=True, eq=False)
class QuotaProblem:
    """The n rows still open, and what choosing them gains."""

    constant: float  # the gain of what is settled already
    linear: Float64s  # a, shape (n,)
    pairs: Float64s  # w, shape (n, n), symmetric with 0 on its diagonal
    rows: Indices  # the open rows, as places among the active rows; those filed under X come first
    settled: Indices  # the rows settled as chosen
    n_x: int  # how many of the open rows are filed under X
    quotas: tuple[int, int]  # how many open rows of X and of Y are still to be chosen
    # Strata of the open rows, one after the other, and how many of each may still be chosen; or no limits.
    limits: tuple[Part, ...] = ()

    @classmethod
    def of(cls, labelling: Labelling, side: Side) -> QuotaProblem:
        """Return the problem of all active rows of a labelling as filed; it holds n x n numbers."""
        f, sign, out = labelling.quadratic, labelling.sign, outwards(side)
        pairs = f.totals.sums.block(labelling.active, labelling.active)
        pairs *= out * f.c * sign[:, None]
        pairs *= sign
        np.fill_diagonal(pairs, 0.0)
        own, gradient = f.c * f.totals.diagonal[labelling.active], f.gradient_as_filed[labelling.active]
        return cls(
            constant=out * f.value_as_filed,
            linear=out * (sign * gradient + own),
            pairs=pairs,
            rows=np.arange(len(sign)),
            settled=NO_ROWS,
            n_x=labelling.n_active_x,
            quotas=(f.counts.n_moved_of_x, f.counts.n_moved),
            limits=tuple(labelling.limits()),
        )

    def by_those_that_stay(self) -> tuple[QuotaProblem, Mask]:
        """Choose the rows that stay in groups of which more than half would be chosen; return which rows.

        The gain is the same number, of the other rows of these groups (docs/sharp.md, "More than half
        moves"). Within limits those that stay have other limits: then nothing is changed.
        """
        flipped = np.zeros(len(self.rows), dtype=np.bool_)
        for part, quota in [] if self.limits else self.parts():
            flipped[part] = 2 * quota > part.stop - part.start
        if not flipped.any():
            return self, flipped
        with_flipped = self.linear + 2 * self.pairs[:, flipped].sum(axis=1)
        sign, n_flipped = np.where(flipped, -1.0, 1.0), np.count_nonzero(flipped[: self.n_x])
        of_x, of_y = self.quotas
        return replace(
            self,
            constant=float(self.constant + 0.5 * (self.linear + with_flipped)[flipped].sum()),
            linear=sign * with_flipped,
            pairs=self.pairs if flipped.all() else self.pairs * sign[:, None] * sign,
            quotas=(
                self.n_x - of_x if n_flipped else of_x,
                len(flipped) - self.n_x - of_y if n_flipped < np.count_nonzero(flipped) else of_y,
            ),
        ), flipped

    def parts(self) -> list[Part]:
        """Return the groups that have open rows, with their quotas."""
        both = ((slice(0, self.n_x), self.quotas[0]), (slice(self.n_x, len(self.rows)), self.quotas[1]))
        return [(part, quota) for part, quota in both if part.stop > part.start]

    def is_possible(self) -> bool:
        """Return whether the quotas can be met."""
        if any(most < 0 for _, most in self.limits):
            return False
        of_x, of_y = self._most()
        return 0 <= self.quotas[0] <= of_x and 0 <= self.quotas[1] <= of_y

    def _most(self) -> tuple[int, int]:
        """Return how many open rows of X and of Y can be chosen at once."""
        if not self.limits:
            return self.n_x, len(self.rows) - self.n_x
        of_x = sum(most for stratum, most in self.limits if stratum.start < self.n_x)
        return of_x, sum(most for _, most in self.limits) - of_x

    def fixed(self, chosen: Mask, rejected: Mask) -> tuple[QuotaProblem, Indices]:
        """Settle rows; return the smaller problem, and the places of its rows among the open ones."""
        taken, left = np.flatnonzero(chosen), np.flatnonzero(~(chosen | rejected))
        with_taken = self.pairs[taken].sum(axis=0)  # symmetric; rows lie together
        taken_of_x = int(np.count_nonzero(taken < self.n_x))
        rest = QuotaProblem(
            constant=float(self.constant + self.linear[taken].sum() + with_taken[taken].sum()),
            linear=self.linear[left] + 2 * with_taken[left],
            pairs=self.pairs[np.ix_(left, left)],
            rows=self.rows[left],
            settled=np.concatenate([self.settled, self.rows[taken]]),
            n_x=int(np.count_nonzero(left < self.n_x)),
            quotas=(self.quotas[0] - taken_of_x, self.quotas[1] - (len(taken) - taken_of_x)),
        )
        return (replace(rest, limits=self._limits_left(chosen, left, rest)) if self.limits else rest), left

    def _limits_left(self, chosen: Mask, left: Indices, rest: QuotaProblem) -> tuple[Part, ...]:
        """Return the limits of a smaller problem; none if they are no less than what is chosen anyway."""
        strata, binds = [], False
        for stratum, most in limits_left(self.limits, chosen):
            start, stop = np.searchsorted(left, [stratum.start, stratum.stop]).tolist()
            quota = rest.quotas[0 if stratum.start < self.n_x else 1]
            binds = binds or most < min(quota, stop - start)
            if stop > start or most < 0:
                strata.append((slice(start, stop), min(most, stop - start)))
        return tuple(strata) if binds else ()

    def forced(self) -> tuple[QuotaProblem, Indices]:
        """Settle the groups (or strata) in which nothing is left to choose: all of their rows, or none."""
        chosen, rejected = (np.zeros(len(self.rows), dtype=np.bool_) for _ in range(2))
        for part, quota in self.parts():
            chosen[part], rejected[part] = quota == part.stop - part.start, quota == 0
        for stratum, most in self.limits:
            group = 0 if stratum.start < self.n_x else 1
            is_full = most == stratum.stop - stratum.start and self.quotas[group] == self._most()[group]
            chosen[stratum] |= is_full
            rejected[stratum] |= most == 0
        if not (chosen.any() or rejected.any()):
            return self, np.arange(len(self.rows))
        return self.fixed(chosen, rejected)

    def top_sum(self, scores: Float64s) -> float:
        """Return the sum of the largest scores that quotas and limits allow."""
        return top_sum(scores, self.parts(), self.limits)

    def best_rows(self, scores: Float64s) -> Indices:
        """Return the open rows with the largest scores that quotas and limits allow."""
        return top_places(scores, self.parts(), self.limits)

    def gain(self, chosen: Indices) -> float:
        """Return the gain when these of the open rows are chosen."""
        among = self.pairs[np.ix_(chosen, chosen)].sum()
        return float(self.constant + self.linear[chosen].sum() + among)

    def climbed(self, chosen: Indices) -> Indices:
        """Choose all rows anew by what they would add to those chosen, as long as the gain rises."""
        gain = self.gain(chosen)
        while True:
            better = self.best_rows(self.linear + 2 * self.pairs[chosen].sum(axis=0))
            last, gain = gain, self.gain(better)
            if gain <= last:
                return chosen
            chosen = better

    def score_bound(self, base: float, scores: Float64s, share: Float64s, *state: Float64s) -> ScoreBound:
        """Return a proof with its bound; see `ScoreBound`."""
        return ScoreBound(self, base, scores, base + self.top_sum(scores), share, state)


@dataclass(frozen=True, eq=False)
class ScoreBound:
    """A proof: whatever is chosen, the gain is at most `base` plus the chosen rows' `scores`."""

    problem: QuotaProblem  # with which to continue: its gain is nowhere less than that of the problem posed
    base: float
    scores: Float64s  # one for each open row
    bound: float  # the largest gain that the proof leaves possible
    share: Float64s  # how much of each open row the relaxation chooses, between 0 and 1
    state: State  # from which the relaxation of a smaller problem continues


def exchanged(rows: Indices, flipped: Mask) -> Indices:
    """Return the rows that move from those that are chosen, or the other way round."""
    moved = flipped.copy()
    moved[rows] ^= True
    return np.flatnonzero(moved)


def restricted(state: State, places: Indices) -> State:
    """Return the entries (or rows and columns) at `places` of each array."""
    return tuple(a[places] if a.ndim == 1 else a[np.ix_(places, places)] for a in state)


class Effort:
    """Work that a proof may still take: counted, not timed, so that results do not depend on the machine.

    A unit is about ten nanoseconds on one core of 2024. The meter ends the work when another thread fails.
    """

    def __init__(self, limit: float, meter: Meter | None = None) -> None:
        self.left, self._limit, self._meter = limit, limit, meter or Meter()

    def spend(self, units: float) -> None:
        """Count `units` of work."""
        self.left -= units
        self._meter.spend(units)

    @property
    def spent(self) -> float:
        """What has been counted."""
        return self._limit - self.left

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0


# Bounds the gain of a problem in which something is left to choose in every group, given the gain reached,
# the bound that is enough and the state to continue from: (problem, gain, enough, effort, state, is_root=).
Relaxation = Callable[..., ScoreBound]


@dataclass(frozen=True, eq=False)
class Proof:
    """The result of branch and bound."""

    bound: float  # no choice gains more
    gain: float  # the largest gain found
    rows: Indices | None  # its rows, if they are better than those known before
    n_nodes: int  # problems that were split


class BranchAndBound:
    """Branch and bound with one relaxation, from a gain known to be reached.

    A bound that exceeds the gain by no more than `slack` is as good as equal. `improve` turns rows that the
    first relaxation suggests, or better ones that a branch finds, into a gain and its rows. The open problems
    take at most `most_bytes`. With `climbs`, rows are chosen anew by what they add (which pays on the upper
    side only).
    """

    def __init__(
        self,
        relax: Relaxation,
        gain: float,
        slack: float,
        effort: Effort,
        improve: Callable[[Indices], tuple[float, Indices]] | None = None,
        most_bytes: float = np.inf,
        *,
        climbs: bool = False,
    ) -> None:
        self._relax, self._slack, self._effort, self._improve = relax, slack, effort, improve
        self._bytes_left, self._gain, self._climbs = most_bytes, gain, climbs
        self._rows: Indices | None = None
        self._closed = -np.inf  # the largest bound of what was put aside
        self._open: list[tuple[float, int, QuotaProblem, ScoreBound]] = []
        self._number = count()

    def run(self, problem: QuotaProblem) -> Proof:
        """Search `problem`."""
        n_nodes = 0
        self._posed = problem
        self._consider(problem, np.inf, (), is_root=True)
        while self._open and not self._effort.is_spent and self._bytes_left > 0:
            if -self._open[0][0] <= self._enough:
                break
            bound, _, top, proof = heapq.heappop(self._open)
            self._bytes_left += _size(top, proof)
            n_nodes += 1
            row = np.arange(len(top.rows)) == np.argmin(np.abs(proof.share - 0.5))
            for chosen, rejected in ((row, np.zeros_like(row)), (np.zeros_like(row), row)):
                rest, places = top.fixed(chosen, rejected)
                self._consider(rest, -bound, restricted(proof.state, places), is_root=False)
        left = max([self._closed, self._gain, *(-entry[0] for entry in self._open)])
        return Proof(left, self._gain, self._rows, n_nodes)

    @property
    def _enough(self) -> float:
        return self._gain + self._slack

    def _consider(self, problem: QuotaProblem, bound: float, state: State, *, is_root: bool) -> None:
        """Bound a problem (so far by `bound`), settle rows, keep it open if it may hold a better choice."""
        while problem.is_possible():
            problem, places = problem.forced()
            if len(problem.rows) == 0:
                self._closed = max(self._closed, self._reached(problem.settled))
                return
            state = restricted(state, places)
            self._effort.spend(3 * len(problem.rows) ** 2 + OVERHEAD)
            proof = self._relax(problem, self._gain, self._enough, self._effort, state, is_root=is_root)
            problem, suggested = proof.problem, problem.rows[problem.best_rows(proof.share)]
            before, suggested = self._gain, np.concatenate([problem.settled, suggested])
            self._reached(suggested)
            self._reached(np.concatenate([problem.settled, problem.rows[problem.best_rows(proof.scores)]]))
            if self._improve is not None and proof.bound > self._enough:
                if is_root:
                    self._keep(*self._improve(suggested))
                elif self._gain > before and self._rows is not None:
                    self._keep(*self._improve(self._rows))
            last, bound = bound, min(bound, proof.bound)
            if bound <= self._enough:
                self._closed = max(self._closed, bound)
                return
            smaller, places = problem.fixed(*self._settled(problem, proof))
            again = is_root and last - bound > ROUND * (bound - self._gain)
            if self._effort.is_spent or (len(places) == len(problem.rows) and not again):
                self._bytes_left -= _size(problem, proof)
                heapq.heappush(self._open, (-bound, next(self._number), problem, proof))
                return
            problem, state = smaller, restricted(proof.state, places)

    def _reached(self, rows: Indices) -> float:
        """Record a choice, and what can be reached from it; return its gain."""
        posed = self._posed
        chosen = np.searchsorted(posed.rows, rows[len(posed.settled) :])
        gain = posed.gain(chosen)
        self._keep(gain, rows)
        if self._climbs:
            better = posed.climbed(chosen)
            self._keep(posed.gain(better), np.concatenate([posed.settled, posed.rows[better]]))
        return gain

    def _keep(self, gain: float, rows: Indices) -> None:
        if gain > self._gain:
            self._gain, self._rows = gain, rows

    def _settled(self, problem: QuotaProblem, proof: ScoreBound) -> tuple[Mask, Mask]:
        """Return the rows that every better choice must hold, and those that none can hold."""
        chosen, rejected = (np.zeros(len(problem.rows), dtype=np.bool_) for _ in range(2))
        for part, after, last in _next_in_line(problem, proof.scores):
            scores = proof.scores[part]
            with_row = proof.bound - np.maximum(last - scores, 0.0)
            without = proof.bound - np.maximum(scores - after, 0.0)
            rejected[part], chosen[part] = with_row <= self._enough, without <= self._enough
            gone = np.concatenate([with_row[rejected[part]], without[chosen[part]]])
            self._closed = max(self._closed, float(gone.max(initial=-np.inf)))
        return chosen, rejected & ~chosen


def _next_in_line(problem: QuotaProblem, scores: Float64s) -> Iterator[tuple[slice, float, float]]:
    """Yield for each group, or stratum of it, who would take the place of a row, and whose place one would.

    That is the score of the best row that is not in the best choice, and of the worst that is: of the group
    or, if the row's stratum is full, of those rows that an exchange would leave within the limits. Exchanges
    of one row are enough, because the admissible choices are the bases of a matroid.
    """
    if not problem.limits:
        for part, quota in problem.parts():
            after, last = np.partition(scores[part], [-quota - 1, -quota])[[-quota - 1, -quota]]
            yield part, after, last
        return
    best = np.zeros(len(scores), dtype=np.bool_)
    best[problem.best_rows(scores)] = True
    inside, outside = np.where(best, scores, np.inf), np.where(best, -np.inf, scores)
    free = {stratum.start for stratum, most in limits_left(problem.limits, best) if most > 0}
    for part, _ in problem.parts():
        strata = [stratum for stratum, _ in problem.limits if part.start <= stratum.start < part.stop]
        after_free = max(
            (outside[stratum].max() for stratum in strata if stratum.start in free), default=-np.inf
        )
        for stratum in strata:
            last = inside[part if stratum.start in free else stratum].min()
            yield stratum, max(after_free, outside[stratum].max()), last


def _size(problem: QuotaProblem, proof: ScoreBound) -> int:
    return problem.pairs.nbytes + sum(array.nbytes for array in proof.state)

"""Branch and bound: a proof made tight by settling rows one after the other.

Either side, any relaxation. A relaxation says what each row can add at most (`Relaxed`); rows
that cannot be in a better choice, or cannot be missing from it, are settled without branching,
as in the literature on the quadratic knapsack. Otherwise the choice with the largest bound is split
on the row about which its relaxation is least decided.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import numpy as np

from mmdbounds.objective import Indices, Mask
from mmdbounds.search.choice import Choice, Relaxed, kept
from mmdbounds.search.effort import Effort
from mmdbounds.sums.protocol import Float64s

State = tuple[Float64s, ...]

OVERHEAD = 30_000
"""Work that a choice costs beside its relaxation."""

ROUND = 0.1
"""At the root, rounds go on while each takes this share off the distance between bound and gain."""


class Relaxation(Protocol):
    """Bounds the gain of a choice in which something is left to choose in every group."""

    def __call__(
        self, choice: Choice, gain: float, enough: float, effort: Effort, state: State, *, is_root: bool
    ) -> Relaxed:
        """Return a proof, from the gain reached, the bound that is enough and where to go on from."""
        ...


@dataclass(frozen=True, eq=False)
class Proof:
    """What branch and bound leaves.

    Attributes
    ----------
    bound
        No choice gains more.
    gain, rows
        The largest gain found, and its rows if they are better than those known before.
    n_nodes
        Choices that were split.
    """

    bound: float
    gain: float
    rows: Indices | None
    n_nodes: int


class BranchAndBound:
    """The search of one choice.

    Parameters
    ----------
    relax
        Bounds a choice.
    gain
        A gain known to be reached.
    slack
        A bound that exceeds the gain reached by no more is as good as equal.
    effort
        What may be spent.
    improve
        Makes a better choice of one that the first relaxation suggests: rows in, gain and rows out.
    most_bytes
        What the open choices may take.
    """

    def __init__(
        self,
        relax: Relaxation,
        gain: float,
        slack: float,
        effort: Effort,
        improve: Callable[[Indices], tuple[float, Indices]] | None = None,
        most_bytes: float = np.inf,
    ) -> None:
        self._relax, self._slack, self._effort, self._improve = relax, slack, effort, improve
        self._bytes_left = most_bytes
        self._gain = gain
        self._rows: Indices | None = None
        self._closed = -np.inf  # the largest bound of what was put aside
        self._open: list[tuple[float, int, Choice, Relaxed]] = []
        self._number = count()

    def run(self, choice: Choice) -> Proof:
        """Search `choice`."""
        n_nodes = 0
        self._consider(choice, np.inf, (), is_root=True)
        while self._open and not self._effort.is_spent and self._bytes_left > 0:
            if -self._open[0][0] <= self._enough:
                break
            bound, _, top, proof = heapq.heappop(self._open)
            self._bytes_left += _size(top, proof)
            n_nodes += 1
            for chosen in (True, False):
                rest, places = _with_row(top, int(np.argmin(np.abs(proof.share - 0.5))), chosen=chosen)
                self._consider(rest, -bound, proof.state_of(places), is_root=False)
        left = max([self._closed, self._gain, *(-entry[0] for entry in self._open)])
        return Proof(left, self._gain, self._rows, n_nodes)

    @property
    def _enough(self) -> float:
        return self._gain + self._slack

    def _consider(self, choice: Choice, bound: float, state: State, *, is_root: bool) -> None:
        """Bound a choice, settle what can be settled, and keep it open if it may hold something better.

        `bound` holds for it already, from the choice that it came from.
        """
        while choice.is_possible():
            choice, places = choice.forced()
            if len(choice.rows) == 0:
                self._reached(choice, choice.rows)
                self._closed = max(self._closed, choice.constant)
                return
            state = kept(state, places)
            self._effort.spend(3 * len(choice.rows) ** 2 + OVERHEAD)
            proof = self._relax(choice, self._gain, self._enough, self._effort, state, is_root=is_root)
            self._reached(choice, choice.best_rows(proof.scores))
            if is_root and proof.bound > self._enough:
                self._suggested(choice, choice.best_rows(proof.share))
            last, bound = bound, min(bound, proof.bound)
            if bound <= self._enough:
                self._closed = max(self._closed, bound)
                return
            smaller, places = choice.fixed(*self._settled(choice, proof))
            again = is_root and last - bound > ROUND * (bound - self._gain)
            if self._effort.is_spent or (len(places) == len(choice.rows) and not again):
                self._bytes_left -= _size(choice, proof)
                heapq.heappush(self._open, (-bound, next(self._number), choice, proof))
                return
            choice, state = smaller, proof.state_of(places)

    def _reached(self, choice: Choice, chosen: Indices) -> None:
        """Note a choice whose gain is known."""
        gain = choice.gain(chosen)
        if gain > self._gain:
            self._gain = gain
            self._rows = np.concatenate([choice.settled, choice.rows[chosen]])

    def _suggested(self, choice: Choice, chosen: Indices) -> None:
        """Let a choice be improved."""
        if self._improve is None:
            return
        gain, rows = self._improve(np.concatenate([choice.settled, choice.rows[chosen]]))
        if gain > self._gain:
            self._gain, self._rows = gain, rows

    def _settled(self, choice: Choice, proof: Relaxed) -> tuple[Mask, Mask]:
        """Return the rows that every better choice must hold, and those that none can hold."""
        chosen, rejected = (np.zeros(len(choice.rows), dtype=np.bool_) for _ in range(2))
        for part, quota in choice.parts():
            scores = proof.scores[part]
            after, last = np.partition(scores, [-quota - 1, -quota])[[-quota - 1, -quota]]
            with_row = proof.bound - np.maximum(last - scores, 0.0)
            without = proof.bound - np.maximum(scores - after, 0.0)
            rejected[part], chosen[part] = with_row <= self._enough, without <= self._enough
            gone = np.concatenate([with_row[rejected[part]], without[chosen[part]]])
            self._closed = max(self._closed, float(gone.max(initial=-np.inf)))
        return chosen, rejected & ~chosen


def _size(choice: Choice, proof: Relaxed) -> int:
    return choice.pairs.nbytes + sum(array.nbytes for array in proof.state)


def _with_row(choice: Choice, place: int, *, chosen: bool) -> tuple[Choice, Indices]:
    """Settle one row."""
    row, nothing = (np.zeros(len(choice.rows), dtype=np.bool_) for _ in range(2))
    row[place] = True
    return choice.fixed(row, nothing) if chosen else choice.fixed(nothing, row)

"""Between misfiled at random and misfiled at worst: a limit on how much the odds of being misfiled differ.

The misfiled rows are distributed like the rows filed under X but for weights, and nothing ties them to single
rows of Y (docs/odds.md). So the range is an estimate for the populations, and no labelling reaches its ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.problem import Problem
from mmdbounds.search import as_method
from mmdbounds.search.odds.ranges import End, Ranges
from mmdbounds.search.protocol import Found, Method, Task


@dataclass(frozen=True)
class LimitedOdds(Method):
    """The range if the odds of being misfiled lie within a factor `odds` of one value."""

    odds: float
    name: ClassVar[str] = "odds"

    @classmethod
    def instead_of(cls, method: str | Method, odds: float) -> LimitedOdds:
        """Return the method that limited odds need; refuse another that was asked for by name."""
        if (asked := as_method(method)) != as_method("sharp"):
            came = f"method={asked.name!r}" if asked.name != "sharp" else "options of 'sharp'"
            msg = f"`odds` has a method of its own; got {came} too. Leave one of them out."
            raise MmdBoundsError(msg)
        return cls(odds)

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse rows that are known: the range says nothing of single rows of Y."""
        if counts.movable is not None:
            msg = "`odds` cannot be combined with verified rows or limits: it says nothing of single rows."
            raise MmdBoundsError(msg)

    def both_sides(self, task: Task) -> tuple[Found, Found]:
        """Return both ends over all admissible counts."""
        numbers = range(task.admissible[0].n_moved, task.admissible[-1].n_moved + 1)
        lower, upper = Ranges(task.totals, task.estimator).ends(numbers, self.odds)
        return _found(lower), _found(upper)


def check_definite(problem: Problem) -> None:
    """Refuse kernels for which the lower end would not be proved."""
    if not problem.kernel.is_conditionally_definite:
        came = problem.kernel.name
        msg = f"`odds` needs a kernel that is known to be positive definite; got kernel={came!r}."
        raise MmdBoundsError(msg)


def _found(end: End) -> Found:
    rows = f"with {end.n_moved:,} misfiled row{'' if end.n_moved == 1 else 's'}"
    return Found(end.value, None, kind="weights", status=rows, certified=end.certified, weights=end.weights)

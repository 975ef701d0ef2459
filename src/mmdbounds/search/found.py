"""What a search returns for one side, before names are put to the rows, and what a search is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mmdbounds.contamination import Counts
from mmdbounds.objective import GroupSums, Indices, Labelling
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator

NO_ROWS: Indices = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Found:
    """A value and the labelling that has it; see `mmdbounds.results.Bound` for the meaning of the fields.

    Free points and resamples are no labellings: then there is none, and no row moves.
    """

    value: float
    labelling: Labelling | None
    kind: str = "labelling"
    status: str = ""
    certified: float | None = None
    fractional: float | None = None

    @property
    def rows(self) -> Indices:
        """Rows of Y that move."""
        return NO_ROWS if self.labelling is None else self.labelling.rows_of_y()

    @property
    def rows_of_x(self) -> Indices:
        """Rows of X that move."""
        return NO_ROWS if self.labelling is None else self.labelling.rows_of_x()


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be searched.

    Attributes
    ----------
    totals
        The sums over the pairs.
    admissible
        The counts of misfiled rows, those that move the fewest rows of Y first.
    estimator
        Whose value is bounded.
    seed
        Of everything that is drawn at random.
    meter
        Counts kernel values, and stops all threads when one has failed.
    problem
        The groups and the kernel, for methods that need more than sums: free points, resamples.
    """

    totals: GroupSums
    admissible: list[Counts]
    estimator: Estimator
    seed: int = 0
    meter: Meter | None = None
    problem: Problem | None = None


class Method(Protocol):
    """A way to look for the extreme labellings; its options are its fields."""

    @property
    def name(self) -> str:
        """The name under which `mmd_bounds(method=...)` knows it."""
        ...

    @property
    def is_random(self) -> bool:
        """Whether the result depends on the seed."""
        ...

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse, before the work, counts that this method cannot do."""
        ...

    def both_sides(self, task: Task) -> tuple[Found, Found]:
        """Return the lower and the upper extreme over all admissible counts."""
        ...

    def options(self) -> dict[str, Any]:
        """Return the options as plain data, for the record."""
        ...

"""What a search returns for one side, before names are put to the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from mmdbounds.contamination import Counts
from mmdbounds.objective import GroupSums, Indices
from mmdbounds.results import Estimator, Side


@dataclass(frozen=True, eq=False)
class Found:
    """A set of rows and its value; see `mmdbounds.Bound` for the meaning of the fields."""

    value: float
    rows: Indices
    rows_of_x: Indices
    kind: str = "labelling"
    status: str = ""
    certified: float | None = None


class Method(Protocol):
    """A way to look for the extreme labellings; its options are its fields."""

    @property
    def name(self) -> str:
        """The name under which `mmd_bounds(method=...)` knows it."""
        ...

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse, before the work, counts that this method cannot do."""
        ...

    def search(self, totals: GroupSums, counts: Counts, estimator: Estimator, side: Side) -> Found:
        """Return the extreme of one side for one pair of counts."""
        ...

    def options(self) -> dict[str, Any]:
        """Return the options as plain data, for the record."""
        ...

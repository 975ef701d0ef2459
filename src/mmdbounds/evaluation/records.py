"""What one trial tells: the truth, and what each method said about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mmdbounds.saved import plain, saved_fields


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialBounds:
    """What one method said in one trial.

    Attributes
    ----------
    lower, upper
        The values found.
    lower_certified, upper_certified
        Numbers proved to lie beyond every labelling, or `None`.
    seconds
        Wall-clock time.
    """

    lower: float
    upper: float
    lower_certified: float | None
    upper_certified: float | None
    seconds: float

    @property
    def is_certified(self) -> bool:
        """Whether both ends of `interval` are proved."""
        return self.lower_certified is not None and self.upper_certified is not None

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends certified if both are proved, else both as found, as in `BoundsResult.interval`."""
        if self.lower_certified is not None and self.upper_certified is not None:
            return self.lower_certified, self.upper_certified
        return self.lower, self.upper

    @property
    def width(self) -> float:
        """Width of `interval`; never negative, also where the ends cross."""
        low, high = self.interval
        return abs(high - low)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """One trial: true groups drawn, rows misfiled, and every method run on the groups as filed.

    Attributes
    ----------
    trial
        Its number, from 0; together with the seed it gives the same trial again.
    n_moved
        Rows of the true X that were filed under Y.
    truth
        Squared MMD of the true groups.
    observed
        Squared MMD of the groups as filed.
    rounding
        How far rounding can move a squared MMD of these rows. A value that a search found may miss the
        truth by so much where both are the same labelling, and that is no miss; proved values carry such
        a margin already, and nothing is added to them.
    bandwidth
        Length of the kernel in this trial, `None` for a kernel that has none.
    bounds
        What each method said, by its label.
    backend, device, dtype, n_pairs
        Where the pairs were computed, and how many.
    seconds
        Wall-clock time of the whole trial.
    """

    trial: int
    n_moved: int
    truth: float
    observed: float
    rounding: float
    bandwidth: float | None
    bounds: Mapping[str, TrialBounds]
    backend: str
    device: str
    dtype: str
    n_pairs: int
    seconds: float

    def covers(self, label: str) -> bool:
        """Return whether the truth is inside the interval of a method; the ends count as inside."""
        said = self.bounds[label]
        return _covers(self.truth, said.interval, self._slack(said))

    def attained_covers(self, label: str) -> bool:
        """Return whether the truth is between the values that a method found, proved or not."""
        said = self.bounds[label]
        return _covers(self.truth, (said.lower, said.upper), self.rounding)

    def is_crossed(self, label: str) -> bool:
        """Return whether the lower end of a method's interval is above its upper end."""
        said = self.bounds[label]
        return _is_crossed(said.interval, self._slack(said))

    def _slack(self, said: TrialBounds) -> float:
        return 0.0 if said.is_certified else self.rounding

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as plain Python data; `from_dict` is the way back."""
        return dict(plain(dataclasses.asdict(self)))

    @classmethod
    def from_dict(cls, data: Any, where: str = "") -> Self:
        """Rebuild a trial from `to_dict`; `where` names it in messages."""
        values = saved_fields(cls, data, where)
        said = values["bounds"] if isinstance(values["bounds"], Mapping) else {"": values["bounds"]}
        values["bounds"] = {
            label: TrialBounds(**saved_fields(TrialBounds, each, f"{where}bounds.{label}."))
            for label, each in said.items()
        }
        return cls(**values)


def _covers(truth: float, interval: tuple[float, float], slack: float) -> bool:
    low, high = interval
    # Asked apart: a truth between crossed ends is within the slack of both only if these hardly cross.
    return low - slack <= truth <= high + slack and not _is_crossed(interval, slack)


def _is_crossed(interval: tuple[float, float], slack: float) -> bool:
    low, high = interval
    return low > high + slack

"""What an evaluation returns: rates and widths of every method, and the trials they come from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mmdbounds.errors import MmdBoundsError, did_you_mean
from mmdbounds.results.base import OfGroups
from mmdbounds.results.provenance import Provenance
from mmdbounds.results.serialize import plain, rebuilt


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialBounds:
    """What one method returned in one trial.

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
    lower_certified: float | None = None
    upper_certified: float | None = None
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
        What each method returned, by its label.
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
        of_method = self.bounds[label]
        return _covers(self.truth, of_method.interval, self._slack(of_method))

    def attained_covers(self, label: str) -> bool:
        """Return whether the truth is between the values that a method found, proved or not."""
        of_method = self.bounds[label]
        return _covers(self.truth, (of_method.lower, of_method.upper), self.rounding)

    def is_crossed(self, label: str) -> bool:
        """Return whether the lower end of a method's interval is above its upper end."""
        of_method = self.bounds[label]
        return _is_crossed(of_method.interval, self._slack(of_method))

    def _slack(self, of_method: TrialBounds) -> float:
        return 0.0 if of_method.is_certified else self.rounding

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as plain Python data; `from_dict` is the way back."""
        return dict(plain(dataclasses.asdict(self)))

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild a trial from `to_dict`."""
        trial: Self = rebuilt(cls, data, "")
        return trial


def _covers(truth: float, interval: tuple[float, float], slack: float) -> bool:
    low, high = interval
    # Asked apart: a truth between crossed ends is within the slack of both only if these hardly cross.
    return low - slack <= truth <= high + slack and not _is_crossed(interval, slack)


def _is_crossed(interval: tuple[float, float], slack: float) -> bool:
    low, high = interval
    return low > high + slack


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MethodCoverage:
    """How often the truth lies outside the interval of one method, and how wide the interval is.

    In each trial the interval is that of `BoundsResult.interval`: certified where both ends are proved, as
    found otherwise. One whose ends cross covers nothing.

    Attributes
    ----------
    label, method, options
        What the method is called here, its name, and its options.
    n_missed
        Trials in which the truth is outside the interval.
    false_coverage_rate, false_coverage_rate_error
        Their share FCR, and its standard error sqrt(FCR (1 - FCR) / L) for L trials.
    mean_interval_width, mean_interval_width_error
        Mean of abs(upper - lower), and its standard error (`None` for a single trial).
    n_crossed
        Trials in which the lower end is above the upper one.
    n_certified
        Trials in which both ends are proved.
    attained_false_coverage_rate, attained_false_coverage_rate_error
        The same for the values found, proved or not; `None` where no trial has a certified interval.
    attained_mean_interval_width, attained_mean_interval_width_error
        The same for the values found.
    mean_seconds
        Mean wall-clock time of one trial.
    """

    label: str
    method: str
    options: Mapping[str, Any]
    n_missed: int
    false_coverage_rate: float
    false_coverage_rate_error: float
    mean_interval_width: float
    mean_interval_width_error: float | None
    n_crossed: int
    n_certified: int
    attained_false_coverage_rate: float | None = None
    attained_false_coverage_rate_error: float | None = None
    attained_mean_interval_width: float | None = None
    attained_mean_interval_width_error: float | None = None
    mean_seconds: float

    @property
    def coverage(self) -> float:
        """Share of trials in which the truth is inside the interval."""
        return 1.0 - self.false_coverage_rate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation(OfGroups):
    """False coverage rate and width of methods on groups whose truth is known.

    ``evaluation["s-sd"]`` is the entry of `methods` with that label.

    Attributes
    ----------
    methods
        What was found for each method, see `MethodCoverage`.
    trials
        The trials in the order of their numbers, see `Trial`.
    mean_truth, mean_observed
        Mean squared MMD of the true groups, and of the groups as filed.
    epsilon, n_moved
        Share of the true X that was to be misfiled, and the number of rows that it makes.
    exactly
        Whether the methods were told the exact number, or that at most this many rows are misfiled.
    n_x, n_y
        Rows of the true groups in each trial.
    n_samples_X, n_samples_Y
        Rows from which they were drawn.
    replace, scale, mechanism
        How they were drawn, scaled and misfiled.
    name_x, name_y
        What the groups are called in the table they came from.
    provenance
        How the result was made; `seconds` and `n_pairs` are sums over the trials.
    """

    methods: tuple[MethodCoverage, ...]
    trials: tuple[Trial, ...]
    mean_truth: float
    mean_observed: float
    epsilon: float
    n_moved: int
    exactly: bool
    n_x: int
    n_y: int
    replace: bool
    scale: str
    mechanism: str
    provenance: Provenance

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return len(self.trials)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The trials as plain Python data."""
        return [trial.to_dict() for trial in self.trials]

    def __getitem__(self, label: str) -> MethodCoverage:
        for each in self.methods:
            if each.label == label:
                return each
        labels = [each.label for each in self.methods]
        hint = did_you_mean(label, labels) if isinstance(label, str) else ""
        msg = f"there is no method {label!r} among {', '.join(map(repr, labels))}.{hint}"
        raise MmdBoundsError(msg)

    def trial_table(self) -> dict[str, Any]:
        """Return one row for each trial and method, as columns by name: ready for a DataFrame.

        ``trial``, ``method``, ``n_moved``, ``truth``, ``observed``; ``lower``, ``upper`` as found,
        ``lower_certified``, ``upper_certified`` as proved (NaN where nothing is); ``covers``, ``width`` and
        ``is_crossed`` of the interval that counts, ``attained_covers`` of the values found; ``seconds``.
        """
        rows = [_row(trial, each.label) for trial in self.trials for each in self.methods]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def __repr__(self) -> str:
        found = ", ".join(f"{each.label} {each.false_coverage_rate:.3g}" for each in self.methods)
        return f"Evaluation({self.n_trials} trials, false coverage rate: {found})"


def _row(trial: Trial, label: str) -> dict[str, Any]:
    of_method = trial.bounds[label]
    proved = {"lower_certified": of_method.lower_certified, "upper_certified": of_method.upper_certified}
    return {
        "trial": trial.trial,
        "method": label,
        "n_moved": trial.n_moved,
        "truth": trial.truth,
        "observed": trial.observed,
        "lower": of_method.lower,
        "upper": of_method.upper,
        **{name: math.nan if value is None else value for name, value in proved.items()},
        "covers": trial.covers(label),
        "attained_covers": trial.attained_covers(label),
        "is_crossed": trial.is_crossed(label),
        "width": of_method.width,
        "seconds": of_method.seconds,
    }

"""What an evaluation returns: rates and widths of every method, and the trials they come from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mmdbounds.errors import MmdBoundsError, did_you_mean
from mmdbounds.evaluation.records import Trial
from mmdbounds.evaluation.sentences import evaluation_summary
from mmdbounds.results import Provenance, Result
from mmdbounds.saved import hold_tuples, plain
from mmdbounds.search import Method


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
class Evaluation(Result):
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
    at_most
        Whether the methods were told "up to" this number, or "exactly".
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

    LISTS: ClassVar[Mapping[str, type[Any]]] = {"methods": MethodCoverage, "trials": Trial}

    methods: tuple[MethodCoverage, ...]
    trials: tuple[Trial, ...]
    mean_truth: float
    mean_observed: float
    epsilon: float
    n_moved: int
    at_most: bool
    n_x: int
    n_y: int
    n_samples_X: int  # noqa: N815 -- X and Y are the notation
    n_samples_Y: int  # noqa: N815
    replace: bool
    scale: str
    mechanism: str
    name_x: str = "X"
    name_y: str = "Y"
    provenance: Provenance

    def __post_init__(self) -> None:
        hold_tuples(self, ("methods", "trials"))

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

    def summary(self) -> str:
        """Return the result in plain words: what was done, what was found, the table, the settings."""
        return evaluation_summary(self)

    def __repr__(self) -> str:
        found = ", ".join(f"{each.label} {each.false_coverage_rate:.3g}" for each in self.methods)
        return f"Evaluation({self.n_trials} trials, false coverage rate: {found})"


def coverage_of(label: str, method: Method, trials: Sequence[Trial]) -> MethodCoverage:
    """Return the rates of one method over the trials."""
    said = [trial.bounds[label] for trial in trials]
    missed = [not trial.covers(label) for trial in trials]
    widths = [each.width for each in said]
    n_certified = sum(each.is_certified for each in said)
    attained: dict[str, Any] = {}
    if n_certified:
        found = [not trial.attained_covers(label) for trial in trials]
        attained = {
            f"attained_{name}": value
            for name, value in _averages(found, [abs(each.upper - each.lower) for each in said]).items()
        }
    return MethodCoverage(
        label=label,
        method=method.name,
        options=plain(method.options()),
        n_missed=sum(missed),
        **_averages(missed, widths),
        n_crossed=sum(trial.is_crossed(label) for trial in trials),
        n_certified=n_certified,
        **attained,
        mean_seconds=float(np.mean([each.seconds for each in said])),
    )


def _averages(missed: Sequence[bool], widths: Sequence[float]) -> dict[str, Any]:
    n_trials, rate = len(missed), sum(missed) / len(missed)
    return {
        "false_coverage_rate": rate,
        "false_coverage_rate_error": math.sqrt(rate * (1 - rate) / n_trials),
        "mean_interval_width": float(np.mean(widths)),
        "mean_interval_width_error": (
            float(np.std(widths, ddof=1)) / math.sqrt(n_trials) if n_trials > 1 else None
        ),
    }


def _row(trial: Trial, label: str) -> dict[str, Any]:
    said = trial.bounds[label]
    proved = {"lower_certified": said.lower_certified, "upper_certified": said.upper_certified}
    return {
        "trial": trial.trial,
        "method": label,
        "n_moved": trial.n_moved,
        "truth": trial.truth,
        "observed": trial.observed,
        "lower": said.lower,
        "upper": said.upper,
        **{name: math.nan if value is None else value for name, value in proved.items()},
        "covers": trial.covers(label),
        "attained_covers": trial.attained_covers(label),
        "is_crossed": trial.is_crossed(label),
        "width": said.width,
        "seconds": said.seconds,
    }

"""What comes out of an experiment: one line for each setting, protocol and method."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from mmdbounds.results.serialize import saved_fields

if TYPE_CHECKING:
    from mmdbounds.evaluation import Evaluation

DIGITS = 10
"""Significant digits in the CSV file: more is the rounding of the machine."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """What one method did at one setting: a row of the CSV file.

    Attributes
    ----------
    source, n_rows, epsilon, mechanism
        The setting: data set, N, share of the true X that is misfiled, and how its rows are chosen.
    n_x, n_y, n_moved
        True sizes, and the number of rows misfiled.
    protocol
        ``"paper"`` or ``"ours"``.
    method
        The row of the table: a method, or a number of steps.
    n_trials
        Trials behind the numbers.
    fcr, fcr_error
        Share of trials with the truth outside the interval, and its standard error.
    miw, miw_error
        Mean width of the interval, and its standard error.
    n_crossed
        Trials in which the lower end was above the upper one.
    n_certified
        Trials in which both ends were proved.
    lower, upper, lower_error, upper_error
        Mean ends of the interval, and their standard errors.
    truth, observed, truth_error, observed_error
        Mean squared MMD of the true groups and of the groups as filed, and their standard errors.
    seconds
        Time of this method, all trials together.
    """

    source: str
    n_rows: int
    epsilon: float
    mechanism: str
    n_x: int
    n_y: int
    n_moved: int
    protocol: str
    method: str
    n_trials: int
    fcr: float
    fcr_error: float
    miw: float
    miw_error: float
    n_crossed: int
    n_certified: int
    lower: float
    lower_error: float
    upper: float
    upper_error: float
    truth: float
    truth_error: float
    observed: float
    observed_error: float
    seconds: float

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Rebuild a line from its fields, or say which are missing."""
        return cls(**saved_fields(cls, data, "lines."))


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return the mean and its standard error; of a single value nobody knows the error, so it is 0."""
    n = len(values)
    mean = math.fsum(values) / n
    spread = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(spread / (n * (n - 1))) if n > 1 else 0.0


def line_of(evaluation: Evaluation, label: str, **heading: Any) -> Line:
    """Return the line of one method.

    Parameters
    ----------
    evaluation
        All trials of the setting.
    label
        The method's label in it.
    heading
        The setting, the protocol, and the row of the table.
    """
    trials = evaluation.trials
    said = [trial.bounds[label] for trial in trials]
    numbers = {
        "lower": [each.interval[0] for each in said],
        "upper": [each.interval[1] for each in said],
        "miw": [each.width for each in said],
        "fcr": [float(not trial.covers(label)) for trial in trials],
        "truth": [trial.truth for trial in trials],
        "observed": [trial.observed for trial in trials],
    }
    values: dict[str, Any] = {}
    for name, each in numbers.items():
        values[name], values[f"{name}_error"] = mean_and_error(each)
    values["fcr_error"] = math.sqrt(values["fcr"] * (1 - values["fcr"]) / len(trials))
    return Line(
        **heading,
        **values,
        n_x=evaluation.n_x,
        n_y=evaluation.n_y,
        n_moved=evaluation.n_moved,
        n_trials=len(trials),
        n_certified=evaluation[label].n_certified,
        n_crossed=sum(trial.is_crossed(label) for trial in trials),
        seconds=math.fsum(each.seconds for each in said),
    )


def trials_in_words(lines: Sequence[Line]) -> str:
    """Return the number of trials, and which methods have fewer."""
    most = max(line.n_trials for line in lines)
    fewer: dict[int, list[str]] = {}
    for line in lines:
        if line.n_trials < most and line.method not in fewer.setdefault(line.n_trials, []):
            fewer[line.n_trials].append(line.method)
    said = "".join(f", {n} for {' and '.join(methods)}" for n, methods in fewer.items())
    return f"{most} trial{'' if most == 1 else 's'}{said}"


def to_csv(rows: list[dict[str, Any]]) -> str:
    """Return rows as CSV; times are left out, so that the same run gives the same file."""
    text = io.StringIO()
    names = [name for name in rows[0] if name != "seconds"]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in names])
    return text.getvalue()


def as_row(line: Line) -> dict[str, Any]:
    """Return the fields of a line by name."""
    return dataclasses.asdict(line)


def _cell(value: Any) -> Any:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value

"""The results of an experiment, one line per setting, protocol and method, and the folder that keeps them."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lab.datasets.files import PathLike, as_path
from mmdbounds.atomic_write import write_whole
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.results.serialize import saved_fields

if TYPE_CHECKING:
    from mmdbounds.evaluation import Evaluation

DIGITS = 10  # significant ones in the CSV file; further ones depend on the machine
CHECKPOINTS = "checkpoints"
TYPE, SCHEMA = "mmdbounds reproduction", 2


@dataclass(frozen=True, kw_only=True)
class Line:
    """The result of one method at one setting: a row of the CSV file. Errors are standard errors."""

    source: str
    n_rows: int  # N
    epsilon: float
    mechanism: str
    n_x: int  # true sizes
    n_y: int
    n_moved: int
    protocol: str  # "paper", "paper-as-printed" or "ours"
    method: str  # the row of the table: a method, or a number of steps
    n_trials: int
    fcr: float  # share of trials with the truth outside the interval
    fcr_error: float
    miw: float  # mean width of the interval
    miw_error: float
    n_crossed: int  # trials in which the lower end was above the upper end
    n_certified: int  # trials in which both ends were proved
    lower: float  # mean ends of the interval
    lower_error: float
    upper: float
    upper_error: float
    truth: float  # mean squared MMD of the true groups
    truth_error: float
    observed: float  # and of the groups as filed
    observed_error: float
    seconds: float  # of this method in all trials together

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Rebuild a line from its fields, or say which are missing."""
        return cls(**saved_fields(cls, data, "lines."))


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return the mean and its standard error, which is 0 for a single value."""
    n = len(values)
    mean = math.fsum(values) / n
    spread = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(spread / (n * (n - 1))) if n > 1 else 0.0


def line_of(evaluation: Evaluation, label: str, **heading: Any) -> Line:
    """Return the line of one method by its label; `heading` is the setting, the protocol, and the row."""
    trials = evaluation.trials
    bounds = [trial.bounds[label] for trial in trials]
    numbers = {
        "lower": [each.interval[0] for each in bounds],
        "upper": [each.interval[1] for each in bounds],
        "miw": [each.width for each in bounds],
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
        seconds=math.fsum(each.seconds for each in bounds),
    )


def trials_in_words(lines: Sequence[Line]) -> str:
    """Return the number of trials in words, and which methods have fewer."""
    most = max(line.n_trials for line in lines)
    fewer: dict[int, list[str]] = {}
    for line in lines:
        if line.n_trials < most and line.method not in fewer.setdefault(line.n_trials, []):
            fewer[line.n_trials].append(line.method)
    exceptions = "".join(f", {n} for {' and '.join(methods)}" for n, methods in fewer.items())
    return f"{most} trial{'' if most == 1 else 's'}{exceptions}"


def to_csv(rows: list[dict[str, Any]]) -> str:
    """Return rows as CSV, without times, so that the same run gives the same file."""

    def cell(value: Any) -> Any:
        return f"{value:.{DIGITS}g}" if isinstance(value, float) else value

    text = io.StringIO()
    names = [name for name in rows[0] if name != "seconds"]
    cells = ([cell(row[name]) for name in names] for row in rows)
    csv.writer(text, lineterminator="\n").writerows([names, *cells])
    return text.getvalue()


def ready_folder(out: PathLike) -> Path:
    """Return the folder for results, created if needed, or say now that nothing can be written there."""
    place = as_path(out, "`out`")
    try:
        (place / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot write results to {str(place)!r}: {error.strerror or error}."
        raise MmdBoundsError(msg) from error
    for each in (place, place / CHECKPOINTS):
        if not os.access(each, os.W_OK | os.X_OK):
            msg = f"cannot write results to {str(each)!r}: permission denied."
            raise MmdBoundsError(msg)
    return place


def write_results(place: Path, name: str, document: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Write the results of an experiment as JSON, and their rows as CSV."""
    write_whole(place / f"{name}.json", (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())
    write_whole(place / f"{name}.csv", to_csv(rows).encode())


def read_results(place: Path, name: str) -> dict[str, Any] | None:
    """Return the results of an experiment, `None` if it has not been run, or by an older protocol only."""
    path = place / f"{name}.json"
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        document = None
    if _is_older(document):
        return None
    if not _is_ours(document):
        msg = f"{str(path)!r} does not hold the results of an experiment. Remove it and run that one again."
        raise MmdBoundsError(msg)
    return dict(document)


def _is_older(document: Any) -> bool:
    """Return whether a document holds results of an earlier version, whose protocols were others."""
    if not isinstance(document, dict) or document.get("type") != TYPE:
        return False
    schema = document.get("schema")
    return isinstance(schema, int) and 1 <= schema < SCHEMA


def _is_ours(document: Any) -> bool:
    """Return whether a document holds results of an experiment, in the layout of this version."""
    if not isinstance(document, dict) or (document.get("type"), document.get("schema")) != (TYPE, SCHEMA):
        return False
    try:
        return all(Line.from_dict(each) for each in document["lines"])
    except DataError:
        return False


def machine() -> str:
    """Return in words the machine and the versions that this runs on."""
    model, info = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if info.exists():
        named = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = named[0].split(":")[1].strip() if named else model
    return f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}, NumPy {np.__version__}"

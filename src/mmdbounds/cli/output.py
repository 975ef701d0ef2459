"""What a command prints: words for people, JSON, CSV, or the bare answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import typer

from mmdbounds.cli.side_files import say
from mmdbounds.errors import MmdBoundsError, MmdBoundsWarning

if TYPE_CHECKING:
    from mmdbounds.evaluation import Evaluation
    from mmdbounds.results import BoundsResult, Result
    from mmdbounds.results.curve import SweepResult
    from mmdbounds.results.testing import RobustTestResult

Columns = Mapping[str, Sequence[Any]]

WHO = ("name_x", "name_y", "n_samples_X", "n_samples_Y", "epsilon", "n_moved", "n_moved_of_x", "at_most")
POINT = (
    *("epsilon", "n_moved", "lower", "upper", "lower_certified", "upper_certified"),
    *("pvalue", "best_case", "null_quantile"),
)


@dataclass(frozen=True)
class Output:
    """How a command was asked to print; known before the work, so that a contradiction is found there.

    Attributes
    ----------
    json, csv
        Print the result for machines; one of them at most.
    quiet
        Print the answer and nothing else: no words around it, no notes, no progress.
    progress
        Whether to show how far the work is; `None` if somebody is watching.
    """

    json: bool = False
    csv: bool = False
    quiet: bool = False
    progress: bool | None = None

    @classmethod
    def asked(cls, *, json: bool, csv: bool, quiet: bool, progress: bool | None) -> Self:
        """Return what the flags ask for; with `quiet`, warnings are dropped until `run` returns."""
        if json and csv:
            msg = "`--json` and `--csv` exclude each other; leave one of them out."
            raise MmdBoundsError(msg)
        if quiet and progress:
            msg = "`--quiet` and `--progress` exclude each other; leave one of them out."
            raise MmdBoundsError(msg)
        if quiet:
            warnings.simplefilter("ignore", MmdBoundsWarning)
        return cls(json=json, csv=csv, quiet=quiet, progress=False if quiet else progress)

    @property
    def in_words(self) -> bool:
        """Whether a person reads it, so that a sentence more does no harm."""
        return not (self.json or self.csv or self.quiet)

    def show(self, result: Result) -> None:
        """Print a result."""
        say(self._text(result))

    def note(self, text: str) -> None:
        """Say something on standard error, unless asked to be quiet."""
        if not self.quiet:
            typer.echo(f"mmdbounds: note: {text}", err=True)

    def _text(self, result: Result) -> str:
        if self.json:
            return result.to_json()
        columns, bare = FORMS[type(result).__name__]
        if self.csv:
            from mmdbounds.cli.rows import as_csv

            return as_csv(columns(result)).rstrip("\n")
        return bare(result) if self.quiet else result.summary()


def _bounds_columns(result: BoundsResult) -> Columns:
    lower, upper = result.lower, result.upper
    return _one_row(
        **{name: getattr(result, name) for name in WHO},
        observed=result.observed,
        lower=lower.value,
        upper=upper.value,
        lower_certified=lower.certified,
        upper_certified=upper.certified,
        kind=lower.kind,
        method=result.provenance.method,
    )


def _test_columns(result: RobustTestResult) -> Columns:
    return _one_row(
        **{name: getattr(result, name) for name in WHO},
        observed=result.observed,
        statistic=result.statistic,
        pvalue=result.pvalue,
        best_case=None if result.pvalue_range is None else result.pvalue_range[0],
        pvalue_as_filed=result.pvalue_as_filed,
        is_valid=result.is_valid,
        is_tight=result.is_tight,
        beta=result.beta,
        n_permutations=result.n_permutations,
    )


def _sweep_columns(result: SweepResult) -> Columns:
    return {name: [getattr(point, name) for point in result.points] for name in POINT}


def _one_row(**cells: Any) -> Columns:
    return {name: [cell] for name, cell in cells.items()}


def _bare(*numbers: float) -> str:
    """Return numbers that lose nothing, with blanks between them."""
    return " ".join(repr(float(number)) for number in numbers)


def _bare_breakdown(result: SweepResult) -> str:
    """Return the share at which the finding breaks down, ``above`` the largest tried if at none of them."""
    share = result.breakdown_epsilon
    return f"above {_bare(result.share(result.most_moved))}" if share is None else _bare(share)


def _bare_rates(result: Evaluation) -> str:
    """Return a line for each method: its label, false coverage rate and mean width."""
    rates = {each.label: (each.false_coverage_rate, each.mean_interval_width) for each in result.methods}
    return "\n".join(f"{label} {_bare(*both)}" for label, both in rates.items())


FORMS: dict[str, tuple[Callable[[Any], Columns], Callable[[Any], str]]] = {
    "BoundsResult": (_bounds_columns, lambda result: _bare(*result.interval)),
    "RobustTestResult": (_test_columns, lambda result: _bare(result.pvalue)),
    "SweepResult": (_sweep_columns, _bare_breakdown),
    "Evaluation": (lambda result: result.trial_table(), _bare_rates),
}
"""Columns and bare answer of each kind of result; by name, for a command loads no more than it needs."""

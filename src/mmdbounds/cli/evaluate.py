"""``mmdbounds evaluate``: a table whose groups are right in, how often each method misses the truth out."""

# ruff: noqa: RUF009 -- an option is a field
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mmdbounds.cli.arguments import Comparison, Output, Table
from mmdbounds.cli.endings import interruptible
from mmdbounds.cli.options import (
    COMPARED,
    COMPUTED,
    DONE,
    MISFILED,
    REQUIRED,
    TABLE,
    grouped,
    option,
    whole_number,
)
from mmdbounds.cli.side_files import plan_file
from mmdbounds.errors import MmdBoundsError, shown_value


@dataclass(frozen=True, kw_only=True)
class TrueTable(Table):
    """A table whose groups are right; columns are scaled in each trial, unless a preset says otherwise."""

    scale: str | None = option(
        None,
        "Scaling of numeric columns in each trial, over both groups: 'standard' (default) or 'none'.",
        "NAME",
        TABLE,
    )


@dataclass(frozen=True, kw_only=True)
class TrialComparison(Comparison):
    """How the groups are compared, unless a preset says otherwise."""

    estimator: str | None = option(
        None, "Estimator of the squared MMD: 'unbiased' (default) or 'biased'.", "NAME", COMPARED
    )


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Options of `evaluate`, under their names there."""

    epsilon: float = option(REQUIRED, "Share of the A rows to file under B.", "SHARE", MISFILED)
    at_most: bool = option(
        False, "Tell the methods an upper limit, not the exact number.", None, MISFILED, "--at-most"
    )
    mechanism: str = option(
        "nonrandom", "Rows to misfile: 'nonrandom' (those typical of A) or 'random'.", "NAME", MISFILED
    )
    methods: list[str] | None = option(
        None, "Method to evaluate: {methods}; repeat for more.  [default: sharp, s-sd]", "NAME"
    )
    preset: str | None = option(
        None, "Protocol that sets --methods, --scale and --estimator: 'paper', 'paper-bio' or 'ours'.", "NAME"
    )
    sizes: str | None = option(
        None, "Rows of A and of B to draw in each trial, such as 50,50; 'all' takes all of them.", "A,B"
    )
    replace: bool = option(False, "Draw rows with replacement.", None, DONE, "--replace")
    n_trials: int = option(100, "Number of trials.", "NUMBER")
    only: list[int] | None = option(
        None, "Run only the trial of this number, from 0; repeat for more.", "NUMBER"
    )
    n_processes: int | None = option(
        None, "Processes that run trials.  [default: one per core]", "NUMBER", COMPUTED
    )
    checkpoint: Path | None = option(
        None, "Save each trial in this file; the same command resumes from it.", "FILE", COMPUTED
    )

    def drawn(self) -> tuple[int | None, int | None] | None:
        """Return how many rows of each group are drawn, `None` for all."""
        if self.sizes is None:
            return None
        text = self.sizes
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != 2 or not all(part == "all" or part.isdecimal() for part in parts):
            got = shown_value(text)
            msg = f"`--sizes` must be two numbers with a comma, such as 50,50 or all,50; got {got}."
            raise MmdBoundsError(msg)
        of_x, of_y = (None if part == "all" else whole_number(part) for part in parts)
        return of_x, of_y


@grouped
def evaluate_command(table: TrueTable, trials: Trials, comparison: TrialComparison, output: Output) -> None:
    """Simulate misfiling in a table whose groups are right, and count how often each method misses the truth.

    Each trial draws rows and files a share of the A rows under B. Every method then bounds the squared MMD;
    it is told how many rows were misfiled, but not which. The truth is known.

    \b
    Example:
      mmdbounds evaluate patients.csv --group diagnosis --hidden MI \\
        --among healthy --epsilon 0.2 --methods sharp --methods s-sd --sizes 50,50
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.cli.dry_run import SEARCH_EACH, show_plan
    from mmdbounds.cli.table import note_changes, one_row_per_unit, read_split
    from mmdbounds.evaluation import run

    how, sizes = comparison.keywords(), trials.drawn()
    plan_file("--checkpoint", trials.checkpoint, inputs=[table.file], is_read=True)
    split = read_split(table, scale="none")  # scaled in each trial
    X, Y = split.X, split.Y
    if output.dry_run:
        n_rows = sum(size or len(each) for size, each in zip(sizes or (None, None), (X, Y), strict=True))
        passes = trials.n_trials * max(1, len(trials.methods or (1, 2))) * n_rows * (n_rows + 1) // 2
        how["estimator"] = comparison.estimator or "unbiased"
        show_plan(X, Y, output, how, lambda _: passes, SEARCH_EACH)
        return
    note_changes(X, output)
    X, Y = one_row_per_unit(X, Y, split, comparison.rng, output)
    with interruptible(trials.checkpoint):
        result = run.evaluate(
            X,
            Y,
            **{**vars(trials), "sizes": sizes},
            scale="standard" if table.scale is None and trials.preset is None else table.scale,
            rng=comparison.rng,
            progress=output.progress,
            **how,
        )
    output.show(result)

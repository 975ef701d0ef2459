"""``mmdbounds evaluate``: how often methods miss a truth that is known."""

from __future__ import annotations

from pathlib import Path

from mmdbounds.cli.arguments import Comparison, Output, Table
from mmdbounds.cli.main import interruptible
from mmdbounds.cli.options import (
    COMPUTED,
    DONE,
    MISFILED,
    REQUIRED,
    TABLE,
    option,
    options,
    whole_number,
)
from mmdbounds.cli.side_files import plan_file
from mmdbounds.cli.table import note_changes, one_row_per_unit, read_split, show_plan
from mmdbounds.errors import MmdBoundsError, shown_value


@options(TABLE)
class TrueTable(Table):
    """A table whose groups are right; columns are scaled in each trial."""

    scale: str = option(
        "standard",
        "Scaling of numeric columns in each trial, over both groups: 'standard' or 'none'.",
        "NAME",
    )


@options(DONE)
class Trials:
    """Options of `evaluate`, under their names there."""

    epsilon: float = option(REQUIRED, "Share of the A rows to file under B.", "SHARE", MISFILED)
    exactly: bool = option(
        True, "Tell the methods the exact number, or an upper limit.", None, MISFILED, "--exactly/--at-most"
    )
    mechanism: str = option(
        "nonrandom", "Rows to misfile: 'nonrandom' (those typical of A) or 'random'.", "NAME", MISFILED
    )
    methods: list[str] | None = option(
        None,
        "Methods to evaluate, separated by commas: {methods}; or the paper's that bound nothing: 's-qno', "
        "'qno', 'sm' or 'bootstrap'.  [default: sharp,s-sd]",
        "NAME,...",
    )
    sizes: str | None = option(
        None, "Rows of A and of B to draw in each trial, such as 50,50; 'all' takes all of them.", "A,B"
    )
    replace: bool = option(False, "Draw rows with replacement.")
    n_trials: int = option(100, "Number of trials.", "NUMBER")
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
        parts = [part.strip() for part in self.sizes.split(",")]
        if len(parts) != 2 or not all(part == "all" or part.isdecimal() for part in parts):
            got = shown_value(self.sizes)
            msg = f"`--sizes` must be two numbers with a comma, such as 50,50 or all,50; got {got}."
            raise MmdBoundsError(msg)
        of_x, of_y = (None if part == "all" else whole_number(part) for part in parts)
        return of_x, of_y


def evaluate_command(table: TrueTable, trials: Trials, comparison: Comparison, output: Output) -> None:
    """Simulate misfiling in a table whose groups are right, and count how often each method misses the truth.

    Each trial draws rows and files a share of the A rows under B. Every method then bounds the squared MMD;
    it is told how many rows were misfiled, but not which. The truth is known.

    \b
    Example:
      mmdbounds evaluate patients.csv --group diagnosis --hidden MI \\
        --among healthy --epsilon 0.2 --methods sharp,s-sd --sizes 50,50
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.evaluation import run

    how, sizes = comparison.keywords(), trials.drawn()
    plan_file("--checkpoint", trials.checkpoint, inputs=[table.file], is_read=True)
    split = read_split(table, None, output, scale="none")  # scaled in each trial
    X, Y = split.X, split.Y
    if output.dry_run:
        from mmdbounds import costs
        from mmdbounds.contamination import Contamination
        from mmdbounds.sums.threads import thread_count

        p, q = (size or len(group) for size, group in zip(sizes or (None, None), (X, Y), strict=True))
        moved = int(trials.epsilon * p)
        Contamination(n_moved=moved, exactly=trials.exactly).admissible(p - moved, q + moved)  # or refuses
        methods = run.labelled_methods(trials.methods or run.DEFAULT_METHODS).values()
        n_processes = thread_count() if trials.n_processes is None else trials.n_processes
        n_in_turn = trials.n_trials / max(1, min(n_processes, trials.n_trials))
        work = costs.of_trials((p + q) * (p + q + 1) / 2, methods, n_in_turn)
        show_plan(X, Y, output, how, lambda _: work)
        return
    note_changes(X, output)
    X, Y = one_row_per_unit(X, Y, split, comparison.seed, output)
    again = comparison.resumed(trials.checkpoint, output)
    with interruptible(trials.checkpoint, again):
        how |= {"scale": table.scale, "rng": comparison.seed, "progress": output.progress}
        result = run.evaluate(X, Y, **{**vars(trials), "sizes": sizes}, **how)
    output.show(result)

"""``mmdbounds reproduce``: a table or figure of the paper, run again."""

# ruff: noqa: RUF009 -- an option is a field
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mmdbounds.cli.arguments import PROGRESS
from mmdbounds.cli.endings import interruptible
from mmdbounds.cli.options import COMPUTED, SHOWN, TABLE, argument, grouped, option
from mmdbounds.cli.side_files import say
from mmdbounds.errors import MmdBoundsError


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A table or figure of the paper, and how it is run."""

    name: str | None = argument(None, "Table or figure; --list shows their names.", "NAME")
    data: Path | None = option(None, "Folder with the data.  [default: $MMDBOUNDS_DATA]", "FOLDER", TABLE)
    preset: str = option(
        "both", "Protocol: 'paper' (the paper's, as far as it is known), 'ours' or 'both'.", "NAME"
    )
    n_trials: int | None = option(
        None, "Trials of each setting.  [default: as many as in the paper]", "NUMBER"
    )
    rng: int = option(0, "Random seed.", "SEED")
    n_processes: int | None = option(
        None, "Processes that run trials.  [default: one per core]", "NUMBER", COMPUTED
    )
    out: Path = option(Path("paper/results"), "Folder for the results.", "FOLDER", SHOWN)
    list: bool = option(False, "List the tables and figures, and how long each takes.", None, SHOWN, "--list")
    progress: bool | None = option(None, PROGRESS, None, SHOWN, show_default=False)


@grouped
def reproduce_command(wanted: Reproduction) -> None:
    """Run a table or figure of the paper again, and show its numbers beside the printed ones.

    Results are written to FOLDER as JSON, CSV, PNG and SVG, with a page index.md. If the command is stopped,
    run it again: it resumes where it stopped.

    \b
    Example:
      mmdbounds reproduce main --n-trials 10 --out results --data data
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    if wanted.list:
        say(_listing())
        return
    if wanted.name is None:
        msg = "name a table or figure; `mmdbounds reproduce --list` shows them."
        raise MmdBoundsError(msg)
    from mmdbounds.paper.runs import reproduce

    with interruptible(wanted.out):
        page = reproduce(
            wanted.name,
            preset=wanted.preset,
            n_trials=wanted.n_trials,
            out=wanted.out,
            data=wanted.data,
            n_processes=wanted.n_processes,
            rng=wanted.rng,
            progress=wanted.progress,
        )
    say(f"The paper's numbers beside ours: {page}")


def _listing() -> str:
    """Return one line for each table and figure."""
    from mmdbounds.paper.experiments import listing

    width = max(len(name) for name, _, _ in listing())
    return "\n".join(
        f"{name:<{width}}  {title} (about {minutes:g} min)" for name, title, minutes in listing()
    )

"""``mmdbounds reproduce``: a table or figure of the paper, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mmdbounds.cli import options
from mmdbounds.cli.options import option
from mmdbounds.cli.side_files import say
from mmdbounds.errors import MmdBoundsError


def reproduce_command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The table or figure; --list shows them.")
    ] = None,
    *,
    preset: Annotated[
        str, option("Protocol: 'paper' (as far as it is known), 'ours' or 'both'.", "NAME")
    ] = "both",
    n_trials: Annotated[
        int | None, option("Trials of each setting; by default as in the paper.", "NUMBER", "--trials")
    ] = None,
    out: Annotated[Path, option("Folder for the results.", "FOLDER")] = Path("paper/results"),
    data: Annotated[
        Path | None, option("Folder with the data; by default the one named by MMDBOUNDS_DATA.", "FOLDER")
    ] = None,
    n_processes: Annotated[
        int | None,
        option("Processes that run trials; by default one per core.", "NUMBER", "--processes"),
    ] = None,
    rng: Annotated[int, option("Seed.", "SEED")] = 0,
    progress: options.Progress = None,
    list_: Annotated[bool, option("List the tables and figures, with times.", None, "--list")] = False,
) -> None:
    """Run a table or figure of the paper again, and show its numbers beside the printed ones.

    Results are written to FOLDER as JSON, CSV, PNG and SVG, with a page, index.md. After a stop, the same
    command resumes where it stopped.

    \b
    Example:
      mmdbounds reproduce main --trials 10 --out results --data data
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    if list_:
        say(_listing())
        return
    if name is None:
        msg = "name a table or figure; `mmdbounds reproduce --list` shows them."
        raise MmdBoundsError(msg)
    from mmdbounds.paper.runs import reproduce

    with options.interruptible(out):
        page = reproduce(
            name,
            preset=preset,
            n_trials=n_trials,
            out=out,
            data=data,
            n_processes=n_processes,
            rng=rng,
            progress=progress,
        )
    say(f"The paper's numbers beside ours: {page}")


def _listing() -> str:
    """Return one line for each table and figure."""
    from mmdbounds.paper.experiments import listing

    width = max(len(name) for name, _, _ in listing())
    return "\n".join(
        f"{name:<{width}}  {title} (about {minutes:g} min)" for name, title, minutes in listing()
    )

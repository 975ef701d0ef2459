"""``python -m lab.paper``: run a table or figure of the paper again, its numbers beside the printed ones.

    python -m lab.paper --list
    python -m lab.paper main --n-trials 10 --out results --data ../shared/data

Results are written to a folder as JSON, CSV, PNG and SVG, with a page index.md. A run that was stopped
resumes with the same command.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from lab.paper import runs
from lab.paper.experiments import PRESETS, listing
from mmdbounds.errors import MmdBoundsError


def arguments(given: list[str] | None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m lab.paper", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("name", nargs="?", help="table or figure; --list shows their names")
    parser.add_argument("--list", action="store_true", help="list them, and how long each takes")
    parser.add_argument("--data", type=Path, help="folder with the data; default: $MMDBOUNDS_DATA")
    parser.add_argument("--preset", default="both", help=f"protocol: {', '.join(PRESETS)}; default: both")
    parser.add_argument("--n-trials", type=int, help="trials of each setting; default: those of the paper")
    parser.add_argument("--rng", type=int, default=0, help="seed; default: 0")
    parser.add_argument("--n-processes", type=int, help="processes that run trials; default: one per core")
    parser.add_argument("--out", type=Path, default=Path(runs.RESULTS), help="folder for the results")
    parser.add_argument("--progress", action=argparse.BooleanOptionalAction, help="how far the work is")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Run it; return the exit code."""
    asked = vars(arguments(given))
    if asked.pop("list"):
        width = max(len(name) for name, _, _ in listing())
        for name, title, minutes in listing():
            sys.stdout.write(f"{name:<{width}}  {title} (about {minutes:g} min)\n")
        return 0
    try:
        if asked["name"] is None:
            msg = "name a table or figure; `python -m lab.paper --list` shows them."
            raise MmdBoundsError(msg)
        page = runs.reproduce(**asked)
    except MmdBoundsError as error:
        sys.stderr.write(f"lab.paper: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write(f"lab.paper: interrupted; the same command resumes from {asked['out']}.\n")
        return 130
    sys.stdout.write(f"The paper's numbers beside ours: {os.fspath(page)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``mmdbounds demo``: a one-second example on real data, with the truth at the end."""

# ruff: noqa: RUF009 -- an option is a field
from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mmdbounds.cli.options import SHOWN, grouped, option
from mmdbounds.cli.side_files import plan_file, say, write_beside

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mmdbounds.datasets import FiledTumours
    from mmdbounds.results import BoundsResult
    from mmdbounds.tables import Group

SHARE = 0.1
"""Share of the malignant tumours that the example files as benign."""


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """What the example leaves behind."""

    save: Path | None = option(
        None, "Also write the table as filed to a CSV file to experiment with.", "FILE", SHOWN
    )


@grouped
def demo_command(wanted: Demonstration) -> None:
    """Show a one-second example on real data: malignant tumours that were filed as benign.

    \b
    Example:
      mmdbounds demo --save tumours.csv
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.bounds import mmd2, mmd_bounds
    from mmdbounds.contamination import Contamination
    from mmdbounds.datasets import overlooked_tumours
    from mmdbounds.words.phrases import wrapped

    save = wanted.save
    plan_file("--save", save)
    tumours = overlooked_tumours(SHARE)
    n_overlooked = len(tumours.overlooked)
    X, Y = _groups(tumours, tumours.filed)
    say(wrapped(_opening(len(X), len(Y), n_overlooked)))
    result = mmd_bounds(X, Y, Contamination(n_moved=n_overlooked), rng=0)
    say(f"\n{result.summary()}\n")
    truth = mmd2(*_groups(tumours, tumours.truth))
    say(wrapped(_ending(truth, result, n_overlooked)))
    if save is not None:
        write_beside(save, lambda: tumours.to_csv().encode())
        say(f"\nThe table as filed is in {save}.")
    say(f"\n{_try_next(save)}")


def _groups(tumours: FiledTumours, diagnosis: NDArray[np.str_]) -> tuple[Group, Group]:
    from mmdbounds.tables import groups

    return groups(tumours.table(diagnosis), "diagnosis", hidden="malignant", among="benign", id="patient")


def _opening(n_x: int, n_y: int, n_overlooked: int) -> str:
    return (
        f"Real data: {n_x + n_y} breast tumours with 30 measurements each, {n_x} filed as malignant "
        f"and {n_y} as benign. But {n_overlooked} of those filed as benign are malignant: they were "
        "overlooked, and nobody knows which ones they are. How different are the two kinds really?"
    )


def _ending(truth: float, result: BoundsResult, n_overlooked: int) -> str:
    from mmdbounds.words.bounds import ends
    from mmdbounds.words.phrases import number

    low, high = result.interval
    where = "inside" if low <= truth <= high else "outside"
    return (
        f"Here the truth is known, because we misfiled the rows ourselves: the {n_overlooked} malignant "
        "tumours with the smallest radius were filed as benign. With them back in their group, the squared "
        f"MMD is {number(truth)}, {where} the range from {' to '.join(ends(result))}."
    )


def _try_next(save: Path | None) -> str:
    name, program = "tumours.csv" if save is None else shlex.quote(str(save)), _program()
    table = f"{name} --group diagnosis --hidden malignant --among benign \\\n    --id patient"
    return "\n".join(
        [
            "Try next:",
            *([f"  {program} demo --save {name}"] if save is None else []),
            f"  {program} bounds {table} --epsilon 0.1 --rows rows.csv",
            f"  {program} test {table} --epsilon 0.3",
            f"  {program} sweep {table}",
            f"  {program} --help",
        ]
    )


def _program() -> str:
    """Return how to call this program: by its name, or as it was called if the shell would not find it."""
    called, found = Path(sys.argv[0]), shutil.which("mmdbounds")
    if called.name != "mmdbounds" or (found is not None and Path(found).resolve() == called.resolve()):
        return "mmdbounds"
    return shlex.quote(str(called))

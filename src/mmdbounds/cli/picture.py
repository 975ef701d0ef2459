"""``mmdbounds plot``: the picture that goes with a saved result, as a file."""

from __future__ import annotations

import os
from pathlib import Path

from mmdbounds.cli.options import REQUIRED, SHOWN, argument, option, options
from mmdbounds.cli.reporting import read_saved, saved_result, undamaged
from mmdbounds.cli.side_files import plan_file, say
from mmdbounds.errors import MmdBoundsError, shown_value

ENDINGS = (".png", ".svg")


@options(SHOWN)
class Picture:
    """A saved result, and the picture of it."""

    result: str = argument(REQUIRED, "Output of --json; - for standard input.", "RESULT.json")
    out: Path = option(REQUIRED, "Picture to write: a .png or .svg file.", "FILE")


def plot_command(wanted: Picture) -> None:
    """Draw a saved result: bounds, curves, tests, columns, intervals.

    \b
    Example:
      mmdbounds sweep patients.csv --group diagnosis --hidden MI --among healthy \\
        --json > result.json
      mmdbounds plot result.json --out curve.svg
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.atomic_write import write_whole
    from mmdbounds.plotting import PICTURES
    from mmdbounds.plotting.canvas import check_available, rendered

    ending = wanted.out.suffix.lower()
    if ending not in ENDINGS:
        msg = f"`--out` must end in {' or '.join(ENDINGS)}; got {shown_value(wanted.out.name)}."
        raise MmdBoundsError(msg)
    check_available()
    plan_file("--out", wanted.out, inputs=[wanted.result])
    result = saved_result(read_saved(wanted.result), tuple(PICTURES), "a plot")
    os.environ.setdefault("MPLBACKEND", "agg")  # no window
    with undamaged():
        picture = rendered(lambda: result.plot().figure)[ending.removeprefix(".")]
    write_whole(wanted.out, picture)
    say(f"The picture is in {wanted.out}.")

"""``mmdbounds demo``, an example with the truth at its end, and ``backends``: where to compute, how fast."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mmdbounds._version import __version__
from mmdbounds.cli.options import SHOWN, option, options
from mmdbounds.cli.side_files import plan_file, say, write_beside
from mmdbounds.cli.spoken import in_flags

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mmdbounds.results import BoundsResult
    from mmdbounds.sums.registry import Rate, Status
    from mmdbounds.tables import Group

# Breast tumours (Wolberg, Street and Mangasarian 1995; UCI Machine Learning Repository, CC BY 4.0). The
# smallest tenth of the malignant ones is labelled as benign: the rows of these patients.
TUMOURS = Path(__file__).with_name("tumours.csv")
_NUMBERS = (4, 6, 9, 10, 32, 40, 41, 42, 44, 45, 48, 65, 106, 136, 147, 172, 194, 230, 298, 380, 513)
OVERLOOKED = tuple(f"P{number:03d}" for number in _NUMBERS)
INDENT = 8
MEASURED = "Rates: rbf kernel, {} columns. A pass is all pairs of 100,000 rows; its time grows quadratically."


@options(SHOWN)
class Demonstration:
    """What the example leaves behind."""

    save: Path | None = option(
        None, "Also write the table as filed to a CSV file to experiment with.", "FILE"
    )


def demo_command(wanted: Demonstration) -> None:
    """Show a one-second example on real data: malignant tumours that were filed as benign.

    \b
    Example:
      mmdbounds demo --save tumours.csv
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.bounds import mmd2, mmd_bounds
    from mmdbounds.contamination import Contamination
    from mmdbounds.words.phrases import wrapped

    save = wanted.save
    plan_file("--save", save)
    X, Y, overlooked = example()
    n_overlooked = len(OVERLOOKED)
    opening = (
        f"Real data: {len(X) + len(Y)} breast tumours with 30 measurements each, {len(X)} filed as malignant "
        f"and {len(Y)} as benign. But up to {n_overlooked} of those filed as benign are malignant: they were "
        "overlooked, and nobody knows which ones they are. How different are the two kinds really?"
    )
    say(wrapped(opening))
    result = mmd_bounds(X, Y, Contamination(n_moved=n_overlooked), rng=0)
    say(f"\n{in_flags(result.summary())}\n")
    truth = mmd2([*X.values, *Y.values[overlooked]], Y.values[~overlooked])
    say(wrapped(_ending(truth, result, n_overlooked)))
    if save is not None:
        write_beside(save, TUMOURS.read_bytes)
        say(f"\nThe table as filed is in {save}.")
    say(f"\n{_try_next(save)}")


def example() -> tuple[Group, Group, NDArray[np.bool_]]:
    """Return the tumours labelled as malignant, those labelled as benign, and which of these are not."""
    import numpy as np

    from mmdbounds.tables import groups

    read = groups(TUMOURS, "diagnosis", hidden="malignant", among="benign", id="patient")
    X, Y = (replace(group, file_rows=None) for group in read)  # in a story, names are enough
    return X, Y, np.isin(np.asarray(Y.ids), OVERLOOKED)


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
    from mmdbounds.words.phrases import typed

    name, program = typed(["tumours.csv" if save is None else str(save)]), _program()
    broken = " " if sys.platform == "win32" else " \\\n    "  # only POSIX shells join such lines
    table = f"{name} --group diagnosis --hidden malignant --among benign{broken}--id patient"
    return "\n".join(
        [
            "Try next:",
            *([f"  {program} demo --save {name}"] if save is None else []),
            f"  {program} bounds {table} --epsilon 0.1 --rows rows.csv",
            f"  {program} test {table} --epsilon 0.3",
            f"  {program} report {table} --epsilon 0.1 --out report.html",
            f"  {program} --help",
        ]
    )


def _program() -> str:
    """Return how to call this program: by its name, or as it was called if the shell would not find it."""
    from mmdbounds.words.phrases import typed

    called, found = Path(sys.argv[0]), shutil.which("mmdbounds")
    if found is None and called.parts[-2:] == ("mmdbounds", "__main__.py"):
        return typed([sys.executable, "-m", "mmdbounds"])
    if called.stem != "mmdbounds" or (found is not None and Path(found).resolve() == called.resolve()):
        return "mmdbounds"
    return typed([str(called)])


@options(SHOWN)
class Listing:
    """How the backends are listed."""

    json: bool = option(False, "Print the full result as JSON.")


def backends_command(listing: Listing) -> None:
    """List where this machine can compute, how fast (measured now), and what is missing.

    \b
    Example:
      mmdbounds backends
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.sums import registry
    from mmdbounds.words.phrases import wrapped

    found = registry.backends()
    choice, why = registry.automatic(found)
    if listing.json:
        about = {"backends": list(map(asdict, found)), "auto": {"backend": choice, "why": why}}
        say(json.dumps({"version": __version__, **about}, indent=2))
        return
    for backend in found:
        say("\n".join(shown(backend)))
    say("\n" + MEASURED.format(registry.N_COLUMNS))
    say(wrapped(f"`auto` chooses {choice}: {why} Dask collections are computed by dask."))


def shown(backend: Status) -> list[str]:
    """Return the lines about one backend."""
    from mmdbounds.sums.registry import backend_called
    from mmdbounds.words.phrases import wrapped

    margin, notes = " " * INDENT, list(backend.notes)
    if backend.version is None:
        word, about = "missing", [notes.pop(0)]
    else:
        word, count = "available" if backend.is_available else "broken", backend.n_threads
        threads = "" if count is None else f"{count} thread{'' if count == 1 else 's'}"
        about = [f"{backend_called(backend.name).package} {backend.version}", backend.how, threads]
    lines = [f"{backend.name:<{INDENT}}{word:<{INDENT + 2}}{', '.join(filter(None, about))}"]
    lines += [] if backend.device is None else [f"{margin}{'on':<{INDENT + 2}}{backend.device}"]
    lines += [f"{margin}{dtype:<{INDENT + 2}}{in_words(rate)}" for dtype, rate in backend.rates.items()]
    return lines + [wrapped(note, margin) for note in notes]


def in_words(rate: Rate) -> str:
    """Return a rate as people read it."""
    millions, seconds = rate.pairs_a_second / 1e6, rate.seconds_a_pass
    many = f"{millions:,.0f} million" if millions < 1e4 else f"{millions / 1e3:,.0f} billion"
    pass_ = f"{seconds:.2g}" if seconds < 10 else f"{seconds:,.0f}"
    return f"{many} kernel values per second, {pass_} s per pass"

"""How far proof and labelling are apart on FOREST and BIO, and what that costs.

    python -m lab.studies.forest_gaps [--data FOLDER] [--draws 20] [--records FILE]

Nonrandom misfiling of a fifth of X, the true count passed. Leave the machine alone meanwhile: this times, in
one process with all cores. One JSON line a draw goes to FILE (default: results/forest_gaps.jsonl); a
run that was stopped continues, and draws already there are not run again: remove the file after a change of
the method. The table goes to the file of the same name that ends in .md.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mmdbounds as mb
from lab.studies import drawing, records

EPSILON = 0.2
SIZES = (100, 240, 600, 2000)
BIO_DRAWS = 10
WARM_UP_ROWS = 20


class Setting(NamedTuple):
    """What a row of the table is about."""

    source: str
    n_rows: int
    options: tuple[tuple[str, object], ...] = ()

    @property
    def how(self):
        """The method as a user writes it."""
        return f"Sharp({', '.join(f'{name}={value}' for name, value in self.options)})"

    @property
    def name(self):
        """Name in the records."""
        return f"{self.source}, N = {self.n_rows}, {self.how}"


def settings():
    forest = [f"FOREST {scale}" for scale in ("raw", "standardised")]
    return [
        *(Setting(source, size) for source in forest for size in SIZES),
        Setting("BIO", drawing.N_BIO, (("gap", 0),)),
        *(Setting(source, SIZES[0], (("certify", False),)) for source in forest),
    ]


def run_draw(setting, trial, folder, method=None):
    """Draw, misfile, bound; return the record. `method` takes the place of the setting's."""
    # The same draws with and without a proof: the name of the method is no part of the seed.
    seed = records.seed_of("gaps", f"{setting.source}, N = {setting.n_rows}", trial)
    rng = np.random.default_rng(seed)
    X, Y = drawing.draw(setting.source, folder, setting.n_rows, rng)
    filed = mb.simulate(X, Y, EPSILON, mechanism="nonrandom", rng=rng)
    run, _ = records.both_sides(filed, method or mb.Sharp(**dict(setting.options)))
    return {
        "setting": setting.name,
        "trial": trial,
        "seed": seed,
        "m": filed.n_moved,
        "method": method or "sharp",
        "run": run,
        "version": mb.__version__,
    }


def collect(jobs, path, folder, method):
    """Return the records of all jobs, in their order, and how many had to be run."""
    wanted = [(setting.name, trial, method or "sharp") for setting, trial in jobs]
    done = {(r["setting"], r["trial"], r["method"]): r for r in records.load(path)}
    missing = [(job, name) for job, name in zip(jobs, wanted, strict=True) if name not in done]
    progress = records.Progress(len(missing))
    warm_up([setting for (setting, _), _ in missing], method)
    for (setting, trial), name in missing:
        done[name] = run_draw(setting, trial, folder, method)
        records.append(path, done[name])
        progress.step()
    return [done[name] for name in wanted], len(missing)


def warm_up(chosen, method):
    """Run every method once on a few made-up rows: imports and compiled code are no part of the seconds."""
    for options in dict.fromkeys(setting.options for setting in chosen):
        run_draw(Setting(drawing.MADE_UP, WARM_UP_ROWS, options), 0, None, method)


def relative_gap(run, side):
    """Return the gap of a side over the attained width, `None` where nothing is proved."""
    if run[f"{side}_certified"] is None:
        return None
    width = run["upper"] - run["lower"]
    return records.gap(run, side) / width if width > 0 else math.inf


def row(setting, runs, method):
    """Return one line of the table."""
    cells = [f"{setting.source}, N = {setting.n_rows}", f"`{method or setting.how}`", len(runs)]
    for side in ("lower", "upper"):
        gaps = [relative_gap(run, side) for run in runs]
        cells += ["-"] * 2 if None in gaps else [records.percent(f(gaps), 2) for f in (np.median, max)]
    seconds = [run["seconds"] for run in runs]
    cells += [
        records.percent(np.mean([records.is_solved(run) for run in runs]), 0),
        f"{np.median(seconds):.3g}",
        f"{max(seconds):.3g}",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def report(found, chosen, method, made):
    """Return the whole page."""
    heads = ["data", "method", "draws", "gap below, median", "worst", "gap above, median", "worst"]
    heads += ["solved", "seconds, median", "worst"]
    lines = [f"| {' | '.join(heads)} |", "|:--|:--|" + "--:|" * (len(heads) - 2)]
    for setting in chosen:
        runs = [record["run"] for record in found if record["setting"] == setting.name]
        lines.append(row(setting, runs, method))
    about = [
        f"A share of {EPSILON:g} of X is misfiled by the witness (nonrandom), and the true count is",
        "passed; unbiased, RBF kernel, median bandwidth. A gap is the distance between the proved and the",
        "attained value of a side, in percent of the attained width (upper minus lower). Solved: both",
        f"gaps are below {records.SOLVED:g} (absolute). Seconds are for the whole call, on all cores.",
    ]
    versions = ", ".join(sorted({record["version"] for record in found}))
    how = [
        f"Seed of a draw: {records.SEED_RULE}, with the study 'gaps' and the first column as the setting.",
        f"Made by `python -m lab.studies.forest_gaps`, mmdbounds {versions}; {records.machine()}. {made}",
    ]
    head = "# Gaps between proof and labelling on FOREST and BIO"
    return "\n\n".join([head, " ".join(about), "\n".join(lines), " ".join(how)]) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m lab.studies.forest_gaps",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default=os.environ.get("MMDBOUNDS_DATA"), help="folder with the data")
    parser.add_argument("--draws", type=int, default=20, help=f"draws a setting; BIO has at most {BIO_DRAWS}")
    parser.add_argument("--records", type=Path, default=records.RESULTS / "forest_gaps.jsonl")
    parser.add_argument(
        "--method", help="another method in place of Sharp, by name: for trying out the program"
    )
    options = parser.parse_args(arguments)
    if options.draws < 1:
        parser.error("--draws must be at least 1")
    return options


def main(arguments=None, chosen=None):
    started = time.monotonic()
    options = parse(arguments)
    chosen = settings() if chosen is None else chosen
    drawing.check_folder(options.data, [setting.source for setting in chosen])
    most = {"BIO": BIO_DRAWS}
    jobs = [
        (setting, trial)
        for setting in chosen
        for trial in range(min(options.draws, most.get(setting.source, options.draws)))
    ]
    try:
        found, n_run = collect(jobs, options.records, options.data, options.method)
    except mb.MmdBoundsError as error:
        records.fail(error)
    except KeyboardInterrupt:
        print(f"stopped; the same command resumes from {options.records}", file=sys.stderr)
        return 130
    made = f"The last run added {n_run} of the draws in {records.duration(time.monotonic() - started)}."
    page = report(found, chosen, options.method, made)
    print(page)
    options.records.with_suffix(".md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How far values of approximate kernels are from exact ones, and whether the stated error holds.

    python -m studies.feature_errors [--data FOLDER] [--draws 25] [--records FILE]

Each run draws groups, misfiles a fifth of X by the witness, and bounds with an approximate kernel. Then the
labellings found, and the groups as filed, are valued with the exact kernel. The stated error is
`Compared.error`, which is to hold with at least 99 % confidence: there are too many rows for all pairs to be
computed with the exact kernel, so rows are drawn. One JSON line a run goes to FILE (default:
studies/results/feature_errors.jsonl); a run that was stopped continues, and runs already there are not made
again: remove the file after a change of the method. The table goes to the file of the same name that ends
in .md. About ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mmdbounds as mb
from mmdbounds.kernels import kernel_class
from studies import drawing, records

EPSILON = 0.2
N_ROWS = 4300
VALUES = ("lower", "observed", "upper")
FOREST = "FOREST standardised"
CHEST = "chest X-ray stand-in"


class Setting(NamedTuple):
    """What a row of the table is about."""

    source: str
    kernel: str
    n_features: int
    landmarks: bool = False
    method: str = "s-sd"

    @property
    def approximation(self):
        """The approximate kernel; every run has a seed of its own."""
        return mb.Nystrom if self.landmarks else mb.RandomFeatures

    @property
    def name(self):
        """Name in the records."""
        how = "landmarks" if self.landmarks else "random features"
        return f"{self.source}, {self.kernel}, {self.n_features} {how}, {self.method}"


SETTINGS = (
    Setting(drawing.MADE_UP, "rbf", 200),
    Setting(drawing.MADE_UP, "laplacian", 200),
    Setting(CHEST, "imq", 200),
    Setting(FOREST, "rbf", 100),
    Setting(FOREST, "rbf", 200),
    Setting(FOREST, "rbf", 200, method="sharp"),
    Setting(FOREST, "matern32", 100, landmarks=True),
    Setting(FOREST, "rbf", 200, landmarks=True, method="sharp"),
)


def run_draw(setting, trial, folder, n_rows=N_ROWS):
    """Draw, misfile, bound, and value the labellings found with the exact kernel; return the record."""
    seed = records.seed_of("features", setting.name, trial)
    rng = np.random.default_rng(seed)
    X, Y = drawing.draw(setting.source, folder, n_rows, rng)
    filed = mb.simulate(X, Y, EPSILON, mechanism="nonrandom", rng=rng)
    kernel = setting.approximation(setting.kernel, setting.n_features, seed=seed % 2**32)
    method = mb.Sharp(n_starts=2, certify=False) if setting.method == "sharp" else setting.method
    result = mb.mmd_bounds(filed.X, filed.Y, filed.contamination, method=method, kernel=kernel, rng=0)
    exact = kernel_class(setting.kernel)(result.provenance.bandwidth)
    return {
        "setting": setting.name,
        "trial": trial,
        "seed": seed,
        "runs": {name: compared(result, name, filed, exact) for name in VALUES},
        "version": mb.__version__,
    }


def compared(result, name, filed, exact):
    """Return what is stated of one value, and the truth."""
    said = getattr(result.approximation, name)
    moved = [] if name == "observed" else getattr(result, name).rows
    stay = np.ones(len(filed.Y), dtype=bool)
    stay[moved] = False
    truth = mb.mmd2(np.concatenate([filed.X, filed.Y[~stay]]), filed.Y[stay], kernel=exact)
    proved = None if said.proved is None else bool(said.proved[0] <= truth <= said.proved[1])
    return {
        "value": said.value,
        "truth": truth,
        "stated": said.error,
        "margin": said.margin,
        "proved": proved,
    }


def collect(jobs, path, folder, n_rows):
    """Return the records of all jobs, in their order, and how many had to be run."""
    done = {(r["setting"], r["trial"]): r for r in records.load(path)}
    missing = [job for job in jobs if (job[0].name, job[1]) not in done]
    progress = records.Progress(len(missing))
    for setting, trial in missing:
        done[setting.name, trial] = run_draw(setting, trial, folder, n_rows)
        records.append(path, done[setting.name, trial])
        progress.step()
    return [done[setting.name, trial] for setting, trial in jobs], len(missing)


def row(name, runs):
    """Return one line of the table: runs are lists of the three values' records."""
    each = {value: [run[value] for run in runs] for value in VALUES}
    cells = [name, len(runs)]
    for found in each.values():
        cells.append(records.percent(np.mean([error(one) <= one["stated"] for one in found])))
    every = [one for found in each.values() for one in found]
    cells += [
        f"{np.median([error(one) for one in every]):.2g}",
        f"{np.median([one['stated'] for one in every]):.2g}",
        f"{np.median([one['stated'] / max(error(one), 1e-15) for one in every]):.1f}",
    ]
    proofs = [one["proved"] for one in every if one["proved"] is not None]
    cells.append(records.percent(np.mean(proofs)) if proofs else "-")
    return f"| {' | '.join(map(str, cells))} |"


def error(one):
    """Return how far a value of the approximate kernel is off."""
    return abs(one["value"] - one["truth"])


def report(found, chosen, n_rows, made):
    """Return the whole page."""
    heads = ["data, kernel, approximation, method", "runs", "held: lower", "as filed", "upper"]
    heads += ["error, median", "stated, median", "stated / error, median", "proofs right"]
    lines = [f"| {' | '.join(heads)} |", "|:--|" + "--:|" * (len(heads) - 1)]
    for setting in chosen:
        runs = [record["runs"] for record in found if record["setting"] == setting.name]
        lines.append(row(setting.name, runs))
    lines.append(row("**all**", [record["runs"] for record in found]))
    about = [
        f"N = {n_rows}. A share of {EPSILON:g} of X is misfiled by the witness (nonrandom), and the true",
        "count is passed. The estimator is unbiased, the bandwidth is the median, and every run has a new",
        "seed of the approximation. An error is the difference between a value with the approximate",
        "kernel and that of the same rows with the exact one. Held: share of runs in which it is within",
        "the stated error (`Compared.error` from sampled rows, with at least 99 % confidence). Sharp: two",
        "starts, no proof.",
    ]
    versions = ", ".join(sorted({record["version"] for record in found}))
    how = [
        f"Seed of a run: {records.SEED_RULE}, with the study 'features' and the first column as the setting.",
        f"Made by `python -m studies.feature_errors`, mmdbounds {versions}; {records.machine()}. {made}",
    ]
    head = "# Errors of random features and landmarks"
    return "\n\n".join([head, " ".join(about), "\n".join(lines), " ".join(how)]) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m studies.feature_errors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default=os.environ.get("MMDBOUNDS_DATA"), help="folder with the data")
    parser.add_argument("--draws", type=int, default=25, help="runs per setting")
    parser.add_argument("--rows", type=int, default=N_ROWS, help="rows of both groups together")
    parser.add_argument("--records", type=Path, default=records.RESULTS / "feature_errors.jsonl")
    options = parser.parse_args(arguments)
    if options.draws < 1:
        parser.error("--draws must be at least 1")
    return options


def main(arguments=None, chosen=SETTINGS):
    started = time.monotonic()
    options = parse(arguments)
    drawing.check_folder(options.data, [setting.source for setting in chosen])
    jobs = [(setting, trial) for setting in chosen for trial in range(options.draws)]
    try:
        found, n_run = collect(jobs, options.records, options.data, options.rows)
    except mb.MmdBoundsError as failure:
        records.fail(failure)
    except KeyboardInterrupt:
        print(f"stopped; the same command resumes from {options.records}", file=sys.stderr)
        return 130
    made = f"The last run added {n_run} of the runs in {records.duration(time.monotonic() - started)}."
    page = report(found, chosen, options.rows, made)
    print(page)
    options.records.with_suffix(".md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

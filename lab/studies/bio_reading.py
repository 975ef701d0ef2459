"""The single reading of the paper that comes closest to its numbers on BIO.

    python -m lab.studies.bio_reading [--data FOLDER] [--trials 100] [--searched 3] [--records FILE]

The paper prints twelve pairs (FCR, MIW) for its gene expressions and leaves open what exactly was compared.
Every combination of the values, the contaminated group, the number of rows drawn, the estimators of bounds
and truth, the ranking of S-SD and SD, the weight of SM, the stopping of QNO, and the labels of the two
columns is scored by the rule of the page on the paper. QNO is slow where its points move, and is then run in
the first `--searched` trials alone. One JSON line a trial goes to FILE (default:
lab/studies/results/bio_reading.jsonl); a run that was stopped resumes. The table goes to the file of the same
name that ends in .md.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mmdbounds as mb
from lab.datasets import load_bio
from lab.paper import printed
from lab.studies import drawing, records
from mmdbounds.sums.threads import thread_count

EPSILON = 0.2
VALUES = ("normal scores", "raw", "logs", "standardised")
CONTAMINATED = ("ALL", "AML")
DRAWN = ("47 + 25", "36 + 36")
MECHANISMS = ("nonrandom", "random")
ESTIMATORS = ("unbiased", "biased")
RANKINGS = ("plain", "gradient", "printed")
SM_WEIGHTS = (0.001, 0.05, 1.0)
STOPS = {"converges": 200, "one step": 1, "stays": 0}  # iterations of QNO
LETTER = {"unbiased": "U", "biased": "V"}
FLOOR, CEILING = 100.0, 16_000.0  # of expressions before logarithms are taken, as is usual for these arrays
TRIALS = 100  # of the paper
SHOWN = 12  # readings in the table
ROUNDING = 1e-9  # far above that of 72 rows, far below any width


class Setting(NamedTuple):
    """What a trial draws; all methods and both estimators see the same rows."""

    values: str
    contaminated: str
    drawn: str
    mechanism: str

    @property
    def name(self):
        """Name in the records."""
        return ", ".join(self)


class Reading(NamedTuple):
    """One joint answer to all questions; the mechanism is what the two tables differ in."""

    values: str
    contaminated: str
    drawn: str
    bounds: str
    truth: str
    ranking: str
    sm_weight: float
    stop: str
    exchanged: bool


class Rate(NamedTuple):
    """What a reading gives for one method: the fields of a line of results that the verdict needs."""

    fcr: float
    fcr_error: float
    miw: float
    n_trials: int


def settings():
    return [Setting(*each) for each in itertools.product(VALUES, CONTAMINATED, DRAWN, MECHANISMS)]


def readings():
    return [
        Reading(*each)
        for each in itertools.product(
            VALUES, CONTAMINATED, DRAWN, ESTIMATORS, ESTIMATORS, RANKINGS, SM_WEIGHTS, STOPS, (False, True)
        )
    ]


@functools.cache
def groups(values, contaminated, folder):
    """Return X and Y as they are read; X is the contaminated group."""
    data = load_bio(folder, values="normal scores" if values == "normal scores" else "raw")
    X, Y = data.X.astype(np.float64), data.Y.astype(np.float64)
    if values == "logs":
        X, Y = (np.log10(np.clip(group, FLOOR, CEILING)) for group in (X, Y))
    return (X, Y) if contaminated == "ALL" else (Y, X)


def quick_methods():
    """Return the methods that need no more than the kernel matrix, by label."""
    rules = {"plain": {"weights": "plain"}, "gradient": {}, "printed": {"schedule": "paper"}}
    methods = {f"S-SD {rule}": mb.StepwiseDominance(**options) for rule, options in rules.items()}
    methods |= {f"SD {rule}": mb.StepwiseDominance(n_steps=1, **options) for rule, options in rules.items()}
    methods |= {f"SM {weight:g}": mb.baselines.Submodular(weight=weight) for weight in SM_WEIGHTS}
    return methods | {"Bootstrap": mb.baselines.Bootstrap(n_resamples=200)}


def searches():
    """Return QNO and S-QNO where their points move at all."""
    how = {"start": "random", "objective": "means", "snap": True, "tolerance": 1e-5}
    return {
        f"{row} {stop}": mb.baselines.QuasiNewton(n_steps=steps, max_iterations=iterations, **how)
        for stop, iterations in STOPS.items()
        for row, steps in (("S-QNO", None), ("QNO", 1))
        if iterations
    }


def filed_groups(setting, trial, folder):
    """Draw rows within the groups, with replacement, and misfile some; the same rows whatever the values."""
    draw = ", ".join(setting[1:])
    rng = np.random.default_rng(records.seed_of("bio reading", draw, trial))
    X, Y = groups(setting.values, setting.contaminated, folder)
    n_x, n_y = (36, 36) if setting.drawn == "36 + 36" else (len(X), len(Y))
    X, Y = X[rng.integers(len(X), size=n_x)], Y[rng.integers(len(Y), size=n_y)]
    if setting.values == "standardised":
        X, Y = drawing.standardised(X, Y)
    return mb.simulate(X, Y, EPSILON, mechanism=setting.mechanism, rng=rng, progress=False)


def run_trial(folder, searched, job):
    """Draw once, and return the ends and the truth of both estimators."""
    setting, trial = job
    filed = filed_groups(setting, trial, folder)
    Z = np.concatenate([filed.X, filed.Y])
    p, rng = len(filed.X), np.random.default_rng([trial, len(setting.name)])
    K = kernel_matrix(Z, filed.kernel.bandwidth)
    found = {}
    for estimator in ESTIMATORS:
        ends = {}
        how = {"estimator": estimator, "rng": trial}
        for label, method in quick_methods().items():
            of_matrix = K[:p], K[p:], filed.contamination
            ends[label] = list(drawing.ends(method, *of_matrix, kernel="precomputed", **how))
        for label, method in searches().items() if trial < searched else ():
            of_rows = filed.X, filed.Y, filed.contamination
            ends[label] = list(drawing.ends(method, *of_rows, kernel=filed.kernel, **how))
        for row in ("S-QNO", "QNO"):  # random rows, once for each end
            drawn = [rng.choice(len(filed.Y), filed.n_moved, replace=False) for _ in range(2)]
            ends[f"{row} stays"] = [statistic(K, p, rows, estimator) for rows in drawn]
        found[estimator] = {"truth": statistic(K, p, filed.rows_of_y, estimator), "ends": ends}
    return {"setting": setting.name, "trial": trial, "searched": trial < searched, "found": found}


def kernel_matrix(Z, bandwidth):
    """Return the RBF kernel of all pairs of rows."""
    centred = Z - Z.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    distances = np.maximum(squares[:, None] + squares - 2 * centred @ centred.T, 0.0)
    np.fill_diagonal(distances, 0.0)
    return np.exp(-distances / (2 * bandwidth**2))


def statistic(K, p, rows, estimator):
    """Return the squared MMD once some rows of Y have moved to X."""
    in_x = np.arange(len(K)) < p
    in_x[p + np.asarray(rows)] = True
    order = np.concatenate([np.flatnonzero(in_x), np.flatnonzero(~in_x)])
    sorted_K, n_x = K[np.ix_(order, order)], int(in_x.sum())
    return float(mb.mmd2(sorted_K[:n_x], sorted_K[n_x:], kernel="precomputed", estimator=estimator))


def labels(reading):
    """Return the label of each row of the paper's tables."""
    return {
        "S-SD": f"S-SD {reading.ranking}",
        "S-QNO": f"S-QNO {reading.stop}",
        "QNO": f"QNO {reading.stop}",
        "SD": f"SD {reading.ranking}",
        "SM": f"SM {reading.sm_weight:g}",
        "Bootstrap": "Bootstrap",
    }


def rate(trials, label, bounds, truth):
    """Return how often the bounds of one estimator miss the truth of one, and their mean width."""
    misses, widths = [], []
    for trial in trials:
        ends = trial[bounds]["ends"].get(label)
        if ends is not None:
            misses.append(not ends[0] - ROUNDING <= trial[truth]["truth"] <= ends[1] + ROUNDING)
            widths.append(abs(ends[1] - ends[0]))
    # The error of as many trials as the paper has: few trials here must not make it easier to agree.
    fcr, n = float(np.mean(misses)), len(misses)
    return Rate(fcr, math.sqrt(fcr * (1 - fcr) / max(n, TRIALS)), float(np.mean(widths)), n)


def rates(reading, trials_of):
    """Return (printed cell, rate) for every row of both tables, by table and row."""
    tables = (printed.MAIN, printed.RANDOM)
    order = tables[::-1] if reading.exchanged else tables
    pairs = {}
    for mechanism, table in zip(MECHANISMS, order, strict=True):
        trials = trials_of[Setting(*reading[:3], mechanism).name]
        for row, label in labels(reading).items():
            cell = table.cells[row, printed.BIO]
            pairs[mechanism, row] = cell, rate(trials, label, reading.bounds, reading.truth)
    return pairs


def score(pairs):
    """Return how many pairs agree, and minus how far the others are: both larger for better readings."""
    agree = sum(printed.verdict(cell, found) == "agrees" for cell, found in pairs.values())
    far = sum(
        abs(found.fcr - cell.fcr) + min(abs(math.log(max(found.miw, 1e-9) / cell.miw)), 2.0)
        for cell, found in pairs.values()
    )
    return agree, -far


def in_words(reading):
    """Return the cells of a reading in the table."""
    one = LETTER[reading.bounds] + (
        "" if reading.bounds == reading.truth else f", truth {LETTER[reading.truth]}"
    )
    columns = "exchanged" if reading.exchanged else "as printed"
    return [*reading[:3], one, reading.ranking, f"{reading.sm_weight:g}", reading.stop, columns]


def report(trials_of, made):
    """Return the whole page."""
    scored = sorted(
        ((score(rates(r, trials_of)), r) for r in readings()), key=lambda each: each[0], reverse=True
    )
    best = scored[0][1]
    heads = [
        "agree",
        "distance",
        "values",
        "X",
        "rows",
        "statistic",
        "S-SD, SD by",
        "SM weight",
        "QNO",
        "columns",
    ]
    top = [f"| {a} of 12 | {-far:.2f} | {' | '.join(in_words(r))} |" for (a, far), r in scored[:SHOWN]]
    table = [f"| {' | '.join(heads)} |", "|--:|--:|" + ":--|" * (len(heads) - 2), *top]
    numbers = ["| misfiling | method | printed | found | trials | verdict |", "|:--|:--|--:|--:|--:|:--|"]
    for (mechanism, row), (cell, found) in rates(best, trials_of).items():
        numbers.append(
            f"| {mechanism} | {row} | {cell.fcr} / {cell.miw} | {found.fcr:.2f} / {found.miw:.4f} "
            f"| {found.n_trials} | {printed.verdict(cell, found)} |"
        )
    about = (
        f"{len(scored):,} joint readings of what the paper compares on BIO, scored by the twelve pairs "
        "(FCR, MIW) that it prints: a pair agrees as on the page of the reproduction. Distance: the sum of "
        "the differences of FCR and of the logarithms of MIW (each at most 2). Rows are drawn with "
        f"replacement within the groups; logs are of values between {FLOOR:g} and {CEILING:,.0f}; "
        "*standardised* are raw values. QNO *stays* at the random rows where it starts if no slope exceeds "
        "its tolerance; a limit on the evaluations of its objective ends it after one step if slopes are "
        "taken from differences. The best of so many readings is partly luck, the more so with few trials."
    )
    parts = ["# Readings of the paper on BIO", about, "\n".join(table), "The best of them:"]
    where = f"mmdbounds {mb.__version__}; {records.machine()}"
    how = f"Made by `python -m lab.studies.bio_reading`, {where}. {made}"
    return "\n\n".join([*parts, "\n".join(numbers), how]) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m lab.studies.bio_reading",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default=os.environ.get("MMDBOUNDS_DATA"), help="folder with the data")
    parser.add_argument("--trials", type=int, default=TRIALS, help="trials a setting")
    parser.add_argument("--searched", type=int, default=3, help="trials in which the points of QNO move")
    parser.add_argument("--processes", type=int, default=None, help="default: one per core")
    parser.add_argument("--records", type=Path, default=records.RESULTS / "bio_reading.jsonl")
    options = parser.parse_args(arguments)
    if not 1 <= options.searched <= options.trials:
        parser.error("--searched must be at least 1, and --trials no less")
    return options


def main(arguments=None):
    started = time.monotonic()
    options = parse(arguments)
    jobs = [(setting, trial) for trial in range(options.trials) for setting in settings()]
    wanted = [(setting.name, trial, trial < options.searched) for setting, trial in jobs]
    run = functools.partial(run_trial, options.data, options.searched)
    try:
        found, n_run = records.collect(
            jobs,
            wanted,
            lambda record: (record["setting"], record["trial"], record["searched"]),
            run,
            options.records,
            options.processes or thread_count(),
        )
    except mb.MmdBoundsError as error:
        records.fail(error)
    except KeyboardInterrupt:
        print(f"stopped; the same command resumes from {options.records}", file=sys.stderr)
        return 130
    trials_of = {setting.name: [] for setting in settings()}
    for record in found:
        trials_of[record["setting"]].append(record["found"])
    spent = records.duration(time.monotonic() - started)
    page = report(trials_of, f"The last run added {n_run} of the trials in {spent}.")
    print(page)
    options.records.with_suffix(".md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How often the confidence intervals hold the MMD of the populations, and how wide they are.

    python -m lab.studies.confidence_coverage [--trials 500] [--records FILE] [--processes 2]
    python -m lab.studies.confidence_coverage --again "no difference, random, n = 50, d = 1, epsilon = 0.1" 17

A trial draws true groups from two normal populations whose root MMD is known in closed form, misfiles rows of
X, and makes three intervals at level 95 % with the true count: the finite-sample one with a bandwidth fixed
beforehand, the same with the radius that holds for any variance, and the first with a bandwidth from held-out
rows. One JSON line a trial goes to FILE (default: results/confidence_coverage.jsonl); a run that was
stopped continues, and trials already there are not run again: remove the file after a change of the method.
The table goes to the file of the same name that ends in .md. The exit code is 1 if an interval covers
significantly less often than it should, 2 if something is wrong with the call.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mmdbounds as mb
from lab.studies import records
from mmdbounds.inference.confidence import confidence_interval
from mmdbounds.inference.radii import deviation_radius

LEVEL = 0.95
HOLDOUT = 0.2
INTERVALS = ("fixed", "any variance", "held out")
NORMAL_99 = 2.326
"""Standard errors below the nominal level from which a coverage counts as too low."""


class Setting(NamedTuple):
    """What a row of the table is about: two normal populations of variance 1, `shift` apart."""

    shift: float
    mechanism: str
    n_rows: int
    n_columns: int
    epsilon: float

    @property
    def name(self):
        """Name in the records."""
        what = f"shift {self.shift:g}" if self.shift else "no difference"
        sizes = f"n = {self.n_rows}, d = {self.n_columns}"
        return f"{what}, {self.mechanism}, {sizes}, epsilon = {self.epsilon:g}"

    @property
    def bandwidth(self):
        """About the median distance where there is no difference; a number that no row has touched."""
        return math.sqrt(2 * self.n_columns)


SETTINGS = (
    Setting(0.0, "random", 50, 1, 0.1),
    Setting(0.0, "nonrandom", 100, 5, 0.1),
    Setting(0.0, "lowest", 200, 20, 0.05),
    Setting(3.0, "random", 200, 1, 0.1),
    Setting(1.0, "nonrandom", 50, 2, 0.1),
    Setting(1.0, "nonrandom", 200, 20, 0.1),
)


class Job(NamedTuple):
    """One trial."""

    setting: Setting
    trial: int


def lowest(X, Y, n_moved, rng):
    """Misfile the rows with the lowest first column: to a plain test no difference looks like one."""
    return np.argsort(X[:, 0], kind="stable")[:n_moved]


def true_root_mmd(setting, bandwidth):
    """Return the root MMD of the populations for the Gaussian kernel, in closed form.

    For x - y normal with variance 2 a column and mean distance s, E k(x, y) is
    (h / (h + 2))^(d / 2) exp(-s^2 / (2 (h + 2))) with h = bandwidth^2.
    """
    h = bandwidth**2
    scale = (h / (h + 2)) ** (setting.n_columns / 2)
    return math.sqrt(-2 * scale * math.expm1(-(setting.shift**2) / (2 * (h + 2))))


def draw(setting, rng):
    """Return the groups of a trial as filed, and how many rows were misfiled."""
    X, Y = (rng.normal(size=(setting.n_rows, setting.n_columns)) for _ in range(2))
    Y[:, 0] += setting.shift
    mechanism = lowest if setting.mechanism == "lowest" else setting.mechanism
    return mb.simulate(
        X, Y, setting.epsilon, mechanism=mechanism, kernel="rbf", bandwidth=setting.bandwidth, rng=rng
    )


def for_any_variance(result):
    """Return an interval with the radius that knows the sizes of the groups alone."""
    low, high = math.inf, 0.0
    for part in result.parts:
        numbers = range(part.n_moved[0], part.n_moved[1] + 1)
        p, q = result.n_samples_X, result.n_samples_Y
        radius = max(deviation_radius(p + m, q - m, 1.0, 1 - result.level) for m in numbers)
        low = min(low, math.sqrt(max(part.lower, 0.0)) - radius)
        high = max(high, math.sqrt(max(part.upper, 0.0)) + radius)
    return replace(result, low=max(low, 0.0), high=min(high, math.sqrt(2)))


def run_trial(job):
    """Draw, misfile, make the intervals; return the record."""
    setting = job.setting
    seed = records.seed_of("confidence", setting.name, job.trial)
    filed = draw(setting, np.random.default_rng(seed))
    X, Y, amount = filed.X, filed.Y, filed.contamination
    shared = {"level": LEVEL, "rng": seed}
    fixed = confidence_interval(X, Y, amount, bandwidth=setting.bandwidth, fixed_kernel=True, **shared)
    made = (
        fixed,
        for_any_variance(fixed),
        confidence_interval(X, Y, amount, holdout=HOLDOUT, **shared),
    )
    runs = {
        name: {
            "low": result.low,
            "high": result.high,
            "label": result.label,
            "truth": true_root_mmd(setting, result.provenance.bandwidth),
        }
        for name, result in zip(INTERVALS, made, strict=True)
    }
    about = {"setting": setting.name, "trial": job.trial, "seed": seed, "m": filed.n_moved}
    return {**about, "runs": runs, "version": mb.__version__}


def key(record):
    return record["setting"], record["trial"]


def collect(jobs, path, processes):
    """Return the records of all jobs, in their order, and how many had to be run."""
    wanted = [(job.setting.name, job.trial) for job in jobs]
    return records.collect(jobs, wanted, key, run_trial, path, processes)


def is_covered(run):
    """Return whether the interval holds the truth: no tolerance."""
    return run["low"] <= run["truth"] <= run["high"]


def covered(found, name):
    """Return how many of the intervals of one kind hold the truth."""
    return sum(is_covered(record["runs"][name]) for record in found)


def is_too_low(found, name):
    """Return whether the coverage is significantly below the level that was promised (one-sided, 1 %)."""
    error = math.sqrt(LEVEL * (1 - LEVEL) / len(found))
    return covered(found, name) / len(found) < LEVEL - NORMAL_99 * error


def row(setting, found):
    """Return one line of the table."""
    cells = [setting.name, found[0]["m"], len(found), f"{found[0]['runs']['fixed']['truth']:.3f}"]
    for name in INTERVALS:
        rate, runs = covered(found, name) / len(found), [record["runs"][name] for record in found]
        error = math.sqrt(rate * (1 - rate) / len(found))
        ends = (records.average(run[end] for run in runs) for end in ("low", "high"))
        cells += [f"{100 * rate:.1f} ± {records.percent(error)}", "{:.3f} to {:.3f}".format(*ends)]
    return f"| {' | '.join(map(str, cells))} |"


def table(found, chosen):
    """Return the lines of the table, one row a setting."""
    heads = ["setting", "m", "trials", "true root MMD"]
    for name in INTERVALS:
        heads += [f"{name}: covered (± standard error)", "mean ends"]
    lines = [f"| {' | '.join(heads)} |", "|:--|" + "--:|" * (len(heads) - 1)]
    return lines + [row(s, [r for r in found if r["setting"] == s.name]) for s in chosen]


def report(found, chosen, made):
    """Return the whole page."""
    versions = ", ".join(sorted({record["version"] for record in found}))
    about = (
        "Two normal populations of variance 1 are `shift` apart in the first column. Each group has n "
        "true rows. m rows of X are misfiled, and m is known (nonrandom: from those most typical of X; "
        f"lowest: those lowest in the first column). The nominal level is {records.percent(LEVEL, 0)}, and "
        "the kernel is Gaussian. Fixed: finite-sample interval, with the root of 2 d as bandwidth. Any "
        "variance: the same, with the radius that depends on the sizes of the groups alone. Held "
        f"out: as fixed, with the median distance of {records.percent(HOLDOUT, 0)} of the rows as "
        "bandwidth. These rows are used for nothing else, and the truth is that of this bandwidth. "
        "The true root MMD is that of the fixed bandwidth."
    )
    how = (
        f"Seed of a trial: {records.SEED_RULE}, with the study 'confidence'. Made by "
        f"`python -m lab.studies.confidence_coverage`, mmdbounds {versions}; {records.machine()}. {made}"
    )
    head = "# Coverage of the confidence intervals"
    return "\n\n".join([head, about, "\n".join(table(found, chosen)), how]) + "\n"


def failures(found, chosen):
    """Return the settings and kinds of interval whose promise is not kept."""
    by_setting = {s.name: [r for r in found if r["setting"] == s.name] for s in chosen}
    return [(name, kind) for name, some in by_setting.items() for kind in INTERVALS if is_too_low(some, kind)]


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m lab.studies.confidence_coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trials", type=int, default=500, help="trials per setting")
    parser.add_argument("--records", type=Path, default=records.RESULTS / "confidence_coverage.jsonl")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--again", nargs=2, metavar=("SETTING", "TRIAL"), help="run one trial and print its record"
    )
    options = parser.parse_args(arguments)
    if options.trials < 1 or options.processes < 1:
        parser.error("--trials and --processes must be at least 1")
    return options


def again(options, chosen):
    """Run one trial and print its record."""
    name, trial = options.again
    by_name = {setting.name: setting for setting in chosen}
    if name not in by_name or not trial.isdigit():
        records.fail(f"no trial {trial!r} of a setting {name!r}. Settings are named as in the records.")
    print(json.dumps(run_trial(Job(by_name[name], int(trial))), indent=2))
    return 0


def main(arguments=None, chosen=SETTINGS):
    started = time.monotonic()
    options = parse(arguments)
    if options.again:
        return again(options, chosen)
    # Trial by trial through all settings, so that a table of few trials is soon there for all of them.
    jobs = [Job(s, trial) for trial in range(options.trials) for s in chosen]
    try:
        found, n_run = collect(jobs, options.records, options.processes)
    except KeyboardInterrupt:
        print(f"stopped; the same command resumes from {options.records}", file=sys.stderr)
        return 130
    wall = records.duration(time.monotonic() - started)
    made = f"The last run added {n_run:,} of the trials in {wall}, with {options.processes} at a time."
    page = report(found, chosen, made)
    print(page)
    options.records.with_suffix(".md").write_text(page, encoding="utf-8")
    for setting, kind in failures(found, chosen):
        print(f"too low: {kind} in '{setting}'", file=sys.stderr)
    return 1 if failures(found, chosen) else 0


if __name__ == "__main__":
    sys.exit(main())

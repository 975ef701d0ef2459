"""What the studies of the test share: true groups, ways to misfile them, trials in processes, rates.

A setting draws true groups, misfiles rows of X, and hands the groups as filed to the test together with what
an analyst would know: the count itself ("exactly"), or only a share that is not exceeded ("up to").

Ways to choose the rows of X that are filed under Y:

- random: any;
- lowest, highest: by the first column;
- cluster: a random row and those nearest to it;
- Y-like, X-like: the smallest and the largest witness, the mean kernel value to the true X less that to the
  true Y;
- adversary: greedily, then by exchanges, so that the groups as filed look as different as can be: the upper
  bound, the groups changed over. It knows the statistic, the kernel and all rows.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform

import mmdbounds as mb
from lab.studies import records
from mmdbounds.errors import BandwidthWarning

LEVEL = 0.05
N_PERMUTATIONS = 199
RATE_OF_ONES = 0.4
"""Of binary columns: more than half of the pairs of rows then agree in a column."""

ADVERSARY_STARTS = 3
"""More find little more, and take longer."""


class Setting(NamedTuple):
    """What a row of the table is about; n_x and n_y are the true sizes."""

    data: str
    n_x: int
    n_y: int
    n_columns: int
    mechanism: str
    epsilon: float
    exactly: bool
    difference: str = "none"
    size: float = 0.0

    @property
    def name(self):
        """Name in the records."""
        apart = "" if self.difference == "none" else f", {self.difference} {self.size:g}"
        return f"{self.groups}{apart}, {self.mechanism}, {self.misfiled}"

    @property
    def groups(self):
        """The true groups in words."""
        return f"{self.data}, n = {self.n_x} + {self.n_y}, d = {self.n_columns}"

    @property
    def misfiled(self):
        """What the analyst knows, in words."""
        return f"{'exactly' if self.exactly else 'up to'} {self.epsilon:g}"


class Job(NamedTuple):
    """One trial."""

    setting: Setting
    trial: int
    n_permutations: int = N_PERMUTATIONS


def draw(setting, rng):
    """Return the true groups of a trial: a shift moves the first column of Y, a scale stretches them all."""
    X, Y = (SOURCES[setting.data](rng, (n, setting.n_columns)) for n in (setting.n_x, setting.n_y))
    if setting.difference == "shift":
        Y[:, 0] += setting.size
    elif setting.difference == "scale":
        Y *= setting.size
    return X, Y


def file(setting, rng):
    """Return the groups as filed."""
    X, Y = draw(setting, rng)
    chosen = "random" if setting.mechanism == "random" else MECHANISMS[setting.mechanism]
    return mb.simulate(X, Y, setting.epsilon, mechanism=chosen, rng=rng)


def tested(job, study):
    """Draw, misfile, test; return the groups as filed, and the record."""
    setting, seed = job.setting, records.seed_of(study, job.setting.name, job.trial)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BandwidthWarning)  # binary data have many equal rows
        filed = file(setting, np.random.default_rng(seed))
        amount = filed.contamination if setting.exactly else setting.epsilon
        result = mb.robust_test(filed.X, filed.Y, amount, n_permutations=job.n_permutations, rng=seed)
    record = {
        "setting": setting.name,
        "trial": job.trial,
        "seed": seed,
        "n_permutations": job.n_permutations,
        "m": filed.n_moved,
        "most_moved": max(count.n_moved for count in result.counts),
        "pvalue": result.pvalue,
        "pvalue_as_filed": result.pvalue_as_filed,
        "is_valid": result.is_valid,
        "is_tight": result.is_tight,
        "seconds": result.provenance.seconds,
        "version": mb.__version__,
    }
    return filed, record


def lowest(X, Y, n_moved, rng):
    return np.argsort(X[:, 0], kind="stable")[:n_moved]


def highest(X, Y, n_moved, rng):
    return np.argsort(-X[:, 0], kind="stable")[:n_moved]


def cluster(X, Y, n_moved, rng):
    centre = X[rng.integers(len(X))]
    return np.argsort(((X - centre) ** 2).sum(axis=1), kind="stable")[:n_moved]


def most_y_like(X, Y, n_moved, rng):
    return np.argsort(witness(X, Y), kind="stable")[:n_moved]


def most_x_like(X, Y, n_moved, rng):
    return np.argsort(-witness(X, Y), kind="stable")[:n_moved]


def adversary(X, Y, n_moved, rng):
    greedy = mb.Sharp(n_starts=ADVERSARY_STARTS, certify=False)
    return mb.mmd_bounds(
        Y, X, mb.Contamination(n_moved=n_moved, exactly=True), method=greedy, rng=0
    ).upper.rows


MECHANISMS = {
    "lowest": lowest,
    "highest": highest,
    "cluster": cluster,
    "Y-like": most_y_like,
    "X-like": most_x_like,
    "adversary": adversary,
}

SOURCES = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "skewed": lambda rng, shape: rng.lognormal(size=shape),
    "binary": lambda rng, shape: (rng.random(size=shape) < RATE_OF_ONES).astype(float),
}


def kernel_matrix(X, Y):
    """Return the Gaussian kernel matrix of the pooled rows, X first, with the median bandwidth."""
    distances = pdist(np.concatenate([X, Y]))
    median = np.median(distances) or np.median(distances[distances > 0])
    return np.exp(-(squareform(distances) ** 2) / (2 * median**2))


def witness(X, Y):
    """Return for each row of X its mean kernel value to X less that to Y."""
    K, n = kernel_matrix(X, Y)[: len(X)], len(X)
    return K[:, :n].mean(axis=1) - K[:, n:].mean(axis=1)


def key(record):
    return record["setting"], record["trial"], record["n_permutations"]


def collect(jobs, run, path, processes):
    """Return the records of all jobs, in their order, and how many had to be run."""
    wanted = [(job.setting.name, job.trial, job.n_permutations) for job in jobs]
    return records.collect(jobs, wanted, key, run, path, processes)


def rate(of_setting, name):
    """Return the share of trials in which a p-value does not exceed the level, and its standard error."""
    share = float(np.mean([record[name] <= LEVEL for record in of_setting]))
    return share, math.sqrt(share * (1 - share) / len(of_setting))


def shown_rate(of_setting, name):
    share, error = rate(of_setting, name)
    return f"{100 * share:.1f} ± {records.percent(error)}"


def by_setting(found, chosen):
    """Return the records of each setting, in the order of the settings."""
    return [(s, [record for record in found if record["setting"] == s.name]) for s in chosen]


def parse(arguments, study, about, more=(), n_trials=1000):
    """Return the options of a study; `more` are further options, as argparse takes them."""
    parser = argparse.ArgumentParser(
        prog=f"python -m studies.{study}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trials", type=int, default=n_trials, help="trials per setting")
    parser.add_argument("--permutations", type=int, default=N_PERMUTATIONS, help="permutations of a test")
    parser.add_argument("--records", type=Path, default=records.RESULTS / f"{study}.jsonl")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--again", nargs=2, metavar=("SETTING", "TRIAL"), help="run one trial and print its record"
    )
    for name, settings in more:
        parser.add_argument(name, **settings)
    options = parser.parse_args(arguments)
    if options.trials < 1 or options.processes < 1 or options.permutations < 1:
        parser.error("--trials, --processes and --permutations must be at least 1")
    return options


def again(options, chosen, run):
    """Run one trial and print its record."""
    name, trial = options.again
    settings = {setting.name: setting for setting in chosen}
    if name not in settings or not trial.isdigit():
        records.fail(f"no trial {trial!r} of a setting {name!r}. Settings are named as in the records.")
    print(json.dumps(run(Job(settings[name], int(trial), options.permutations)), indent=2))
    return 0


def gather(options, chosen, run):
    """Return the records of all trials, and a sentence on how they were made; leave with 130 on Ctrl-C."""
    started = time.monotonic()
    # Trial by trial through all settings, so that a table of few trials is soon there for all of them.
    jobs = [Job(s, trial, options.permutations) for trial in range(options.trials) for s in chosen]
    try:
        found, n_run = collect(jobs, run, options.records, options.processes)
    except KeyboardInterrupt:
        print(f"stopped; the same command resumes from {options.records}", file=sys.stderr)
        sys.exit(130)
    wall = records.duration(time.monotonic() - started)
    return found, f"The last run added {n_run:,} of the trials in {wall}, with {options.processes} at a time."

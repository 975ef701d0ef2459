"""Power of several bandwidths beside the median alone, when rows are mislabelled.

    python -m lab.studies.bandwidths [--trials N] [--records FILE] [--processes N] [--again SETTING TRIAL]

A few rows move the mean of a wide kernel cheaply, and a narrow one sees little of a shift: no single
bandwidth is good at both. Every list of bandwidths gives one p-value (`robust_test(bandwidth=[...])`), so
the table compares lists that could be recommended. A run that is stopped resumes from its records.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import mmdbounds as mb
from lab.studies import records, testing
from lab.studies.testing import LEVEL, Setting
from mmdbounds.errors import BandwidthWarning

LISTS = {
    "median": (1.0,),
    "half of it": (0.5,),
    "0.5, 1": (0.5, 1.0),
    "0.35, 0.7, 1.4": (0.35, 0.7, 1.4),
    "0.5, 0.7, 1": (0.5, 0.7, 1.0),
    "0.35, 0.5, 0.7, 1, 1.4": (0.35, 0.5, 0.7, 1.0, 1.4),
    "0.25, 0.5, 1, 2, 4": (0.25, 0.5, 1.0, 2.0, 4.0),
}
"""Multiples of the median distance that are tested together."""

SETTINGS = (
    Setting("normal", 100, 100, 10, "farthest", 0.08, False, "scale", 0.667),
    Setting("normal", 100, 100, 5, "farthest", 0.08, False, "shift", 0.9),
    Setting("normal", 100, 100, 5, "random", 0.05, False, "shift", 0.9),
    Setting("normal", 100, 100, 2, "lowest", 0.05, False, "shift", 0.7),
    Setting("normal", 100, 100, 2, "farthest", 0.05, False, "scale", 0.667),
    Setting("normal", 100, 100, 20, "farthest", 0.05, False, "scale", 0.8),
    Setting("skewed", 100, 100, 5, "random", 0.05, False, "shift", 1.0),
    Setting("normal", 100, 100, 5, "lowest", 0.05, False),
)
"""The first two are those in which one bandwidth was seen to fail; the last one has no difference."""


def farthest(X, Y, n_moved, rng):
    """Return the rows of X that are the farthest from the centre of all."""
    return np.argsort(-(X**2).sum(axis=1), kind="stable")[:n_moved]


MECHANISMS = {**testing.MECHANISMS, "farthest": farthest, "random": "random"}


def file(setting, rng):
    """Return the groups as labelled."""
    groups = testing.draw(setting, rng)
    return mb.simulate(*groups, setting.epsilon, mechanism=MECHANISMS[setting.mechanism], rng=rng)


def run_trial(job):
    """Draw, mislabel, test with every list; return the record."""
    setting, seed = job.setting, records.seed_of("bandwidths", job.setting.name, job.trial)
    pvalues, seconds = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BandwidthWarning)
        filed = file(setting, np.random.default_rng(seed))
        for name, factors in LISTS.items():
            lengths = [f"{factor} median" for factor in factors]
            result = mb.robust_test(
                filed.X,
                filed.Y,
                setting.epsilon,
                bandwidth=lengths[0] if len(lengths) == 1 else lengths,
                n_permutations=job.n_permutations,
                rng=seed,
            )
            pvalues[name], seconds[name] = result.pvalue, result.provenance.seconds
    return {
        "setting": setting.name,
        "trial": job.trial,
        "seed": seed,
        "n_permutations": job.n_permutations,
        "m": filed.n_moved,
        **{f"pvalue, {name}": pvalue for name, pvalue in pvalues.items()},
        "seconds": seconds,
        "version": mb.__version__,
    }


def row(setting, of_setting):
    """Return one line of the table."""
    apart = "" if setting.difference == "none" else f"{setting.difference} {setting.size:g}"
    rates = [testing.shown_rate(of_setting, f"pvalue, {name}") for name in LISTS]
    cells = [setting.groups, apart or "nothing", setting.mechanism, setting.misfiled, len(of_setting), *rates]
    return f"| {' | '.join(map(str, cells))} |"


def table(found, chosen):
    """Return the lines of the table, one row a setting, and one for the seconds of a test."""
    heads = ["true groups", "Y differs by", "mislabelled", "assumed", "trials", *LISTS]
    lines = [f"| {' | '.join(heads)} |", "|:--|:--|:--|:--|--:|" + "--:|" * len(LISTS)]
    lines += [row(setting, some) for setting, some in testing.by_setting(found, chosen)]
    spent = [f"{records.average(record['seconds'][name] for record in found):.2f}" for name in LISTS]
    return [*lines, f"| mean seconds | | | | | {' | '.join(spent)} |"]


def report(found, chosen, made):
    """Return the whole page."""
    versions = ", ".join(sorted({record["version"] for record in found}))
    permutations = ", ".join(map(str, sorted({record["n_permutations"] for record in found})))
    about = (
        "Shares of the trials in which the robust test rejects (± standard error), by the bandwidths that "
        "are tested together, as multiples of the median distance. Rows of X are labelled Y: at random, the "
        "lowest of the first column, or those farthest from the centre. The last row has no difference. RBF "
        f"kernel, unbiased; {permutations} permutations; level {records.percent(LEVEL, 0)}."
    )
    how = (
        f"Seed of a trial: {records.SEED_RULE}, with the study 'bandwidths'. Made by "
        f"`python -m lab.studies.bandwidths`, mmdbounds {versions}; {records.machine()}. {made}"
    )
    return "\n\n".join(["# Several bandwidths", about, "\n".join(table(found, chosen)), how]) + "\n"


def main(arguments=None, chosen=SETTINGS):
    options = testing.parse(arguments, "bandwidths", __doc__, n_trials=200)
    if options.again:
        return testing.again(options, chosen, run_trial)
    found, made = testing.gather(options, chosen, run_trial)
    page = report(found, chosen, made)
    print(page)
    options.records.with_suffix(".md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How often the test rejects where there is no difference, however the rows were misfiled.

    python -m lab.studies.type_one [--trials 1000] [--records FILE] [--processes 2]
    python -m lab.studies.type_one --again "normal, n = 100 + 100, d = 2, lowest, exactly 0.1" 17

A trial draws both true groups from the same distribution, misfiles rows of X and tests the groups as filed,
with the test that allows for it and with the ordinary permutation test. One JSON line
a trial goes to FILE (default: results/type_one.jsonl); a run that was stopped continues, and trials
already there are not run again: remove the file after a change of the method. The table goes to the file of
the same name that ends in .md. The exit code is 1 if the test rejects significantly more often than it may in
some setting, 2 if something is wrong with the call.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import binomtest

from lab.studies import records, testing
from lab.studies.testing import LEVEL, Setting

SETTINGS = (
    Setting("normal", 30, 30, 1, "random", 0.1, exactly=False),
    Setting("normal", 200, 200, 50, "random", 0.3, exactly=True),
    Setting("binary", 50, 100, 3, "random", 0.2, exactly=False),
    Setting("normal", 100, 100, 2, "lowest", 0.1, exactly=True),
    Setting("normal", 200, 100, 5, "lowest", 0.05, exactly=False),
    Setting("binary", 60, 60, 1, "lowest", 0.2, exactly=True),
    Setting("skewed", 30, 60, 10, "lowest", 0.3, exactly=False),
    Setting("normal", 100, 100, 2, "highest", 0.1, exactly=False),
    Setting("skewed", 50, 50, 1, "highest", 0.2, exactly=True),
    Setting("normal", 150, 50, 20, "highest", 0.05, exactly=True),
    Setting("normal", 50, 50, 2, "cluster", 0.2, exactly=True),
    Setting("normal", 200, 200, 1, "cluster", 0.02, exactly=False),
    Setting("binary", 100, 40, 10, "cluster", 0.1, exactly=True),
    Setting("normal", 60, 60, 5, "Y-like", 0.1, exactly=False),
    Setting("normal", 200, 200, 50, "Y-like", 0.05, exactly=True),
    Setting("binary", 80, 120, 3, "Y-like", 0.3, exactly=True),
    Setting("normal", 100, 100, 10, "X-like", 0.2, exactly=False),
    Setting("skewed", 40, 40, 2, "X-like", 0.1, exactly=True),
    Setting("normal", 50, 200, 1, "X-like", 0.02, exactly=True),
    Setting("normal", 30, 30, 1, "adversary", 0.3, exactly=True),
    Setting("normal", 100, 100, 2, "adversary", 0.1, exactly=False),
    Setting("binary", 50, 50, 2, "adversary", 0.1, exactly=True),
    Setting("normal", 200, 200, 50, "adversary", 0.02, exactly=True),
    Setting("normal", 200, 200, 5, "adversary", 0.3, exactly=False),
)


def run_trial(job):
    """Draw, misfile, test; return the record."""
    return testing.tested(job, "type one")[-1]


def excess(of_setting, n_settings):
    """Return the exact p-value for a rejection rate above the level, times the number of settings."""
    rejected = sum(record["pvalue"] <= LEVEL for record in of_setting)
    alone = binomtest(rejected, len(of_setting), LEVEL, alternative="greater").pvalue
    return min(1.0, n_settings * float(alone))


def row(setting, of_setting, n_settings):
    """Return one line of the table."""
    above, proved = excess(of_setting, n_settings), np.mean([r["is_valid"] for r in of_setting])
    cells = [
        setting.groups,
        setting.mechanism,
        setting.misfiled,
        of_setting[0]["m"],
        len(of_setting),
        testing.shown_rate(of_setting, "pvalue"),
        f"{above:.2g}",
        testing.shown_rate(of_setting, "pvalue_as_filed"),
        records.percent(proved, 0),
        f"{records.average(record['seconds'] for record in of_setting):.2f}",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def table(found, chosen):
    """Return the lines of the table, one row a setting."""
    heads = [
        "true groups",
        "misfiled",
        "assumed",
        "m",
        "trials",
        "robust test rejects (± standard error)",
        f"p-value for above {records.percent(LEVEL, 0)}, corrected",
        "ordinary test rejects",
        "proved",
        "mean seconds",
    ]
    lines = [f"| {' | '.join(heads)} |", "|:--|:--|:--|" + "--:|" * (len(heads) - 3)]
    return lines + [row(s, some, len(chosen)) for s, some in testing.by_setting(found, chosen)]


def failures(found, chosen):
    """Return the names of the settings in which the test rejects significantly more often than it may."""
    groups = testing.by_setting(found, chosen)
    return [setting.name for setting, some in groups if excess(some, len(chosen)) <= LEVEL]


def totals(found, chosen):
    """Return the sentences that close the table."""
    groups = testing.by_setting(found, chosen)
    largest, where = max((testing.rate(some, "pvalue")[0], setting.name) for setting, some in groups)
    too_often = sum(testing.rate(some, "pvalue_as_filed")[0] > 2 * LEVEL for _, some in groups)
    return (
        f"The robust test rejects significantly more often than in {records.percent(LEVEL, 0)} of the trials "
        f"in {len(failures(found, chosen))} of {len(chosen)} settings; its largest rate is "
        f"{records.percent(largest)} ('{where}'). The ordinary test rejects in more than "
        f"{records.percent(2 * LEVEL, 0)} of the trials in {too_often} of them. "
        f"{sum(not record['is_valid'] for record in found):,} of {len(found):,} p-values are not proved."
    )


def report(found, chosen, made):
    """Return the whole page."""
    versions = ", ".join(sorted({record["version"] for record in found}))
    permutations = ", ".join(map(str, sorted({record["n_permutations"] for record in found})))
    about = (
        "Both true groups come from the same distribution (n rows each, d columns). m rows of X are filed "
        "under Y: at random; lowest or highest in the first column; a cluster (a random row and those "
        "nearest to it); most Y-like or X-like (smallest or largest witness); or chosen by an adversary. "
        "The adversary knows the test and, greedily and by exchanges, makes the groups as filed as "
        "different as possible. The robust test assumes exactly m rows, or up to the stated share of the "
        "true X. Columns are normal, skewed (lognormal) or binary; RBF kernel, median bandwidth, "
        f"unbiased; {permutations} permutations; level {records.percent(LEVEL, 0)}. The p-value is that of "
        "the exact binomial test of the rate, times the number of settings. Proved: every count has a "
        "proof, so the p-value is valid."
    )
    how = (
        f"Seed of a trial: {records.SEED_RULE}, with the study 'type one'. Made by "
        f"`python -m lab.studies.type_one`, mmdbounds {versions}; {records.machine()}. {made}"
    )
    head = "# Type-I error: rejections where there is no difference"
    blocks = [head, about, "\n".join(table(found, chosen)), totals(found, chosen), how]
    return "\n\n".join(blocks) + "\n"


def main(arguments=None, chosen=SETTINGS):
    options = testing.parse(arguments, "type_one", __doc__)
    if options.again:
        return testing.again(options, chosen, run_trial)
    found, made = testing.gather(options, chosen, run_trial)
    page = report(found, chosen, made)
    print(page)
    options.records.with_suffix(".md").write_text(page, encoding="utf-8")
    for name in failures(found, chosen):
        print(f"rejected too often: '{name}'", file=sys.stderr)
    return 1 if failures(found, chosen) else 0


if __name__ == "__main__":
    sys.exit(main())

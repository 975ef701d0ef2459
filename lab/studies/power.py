"""How often the test rejects where there is a difference, beside the nearest published rule.

    python -m lab.studies.power [--data FOLDER] [--trials 1000] [--records FILE] [--processes 2]
    python -m lab.studies.power --again "normal, n = 100 + 100, d = 2, shift 1, lowest, up to 0.05" 17

The rule follows the idea of dcMMD (Schrab and Kim, Robust kernel hypothesis testing under data corruption,
2024, arXiv:2405.19912): r corrupted rows move the root of the V-statistic, and its value on any permutation,
by at most r sqrt(2 kappa) / min(p, q); so the ordinary test stays valid if it must exceed its threshold by
twice that. It guards against rows replaced by anything, which is more than misfiling.

The first table is a simulation like that of type_one; the second, which needs the data, says up to
which share of misfiled rows each test still rejects on real groups. One JSON line a trial, and one a data
set, goes to FILE (default: results/power.jsonl); a run that was stopped continues, and what is there
is not run again: remove the file after a change of the method. The tables go to the file of the same name
that ends in .md. The exit code is 1 if the rule rejects significantly more often in some setting, or up to a
larger share on some data, and 2 if something is wrong with the call.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

import mmdbounds as mb
from lab.datasets import overlooked_tumours
from lab.studies import drawing, records, testing
from lab.studies.testing import LEVEL, Setting

SETTINGS = (
    Setting("normal", 50, 50, 1, "random", 0.05, False, "shift", 1.0),
    Setting("normal", 100, 100, 2, "lowest", 0.1, True, "shift", 1.0),
    Setting("normal", 100, 100, 2, "highest", 0.1, True, "shift", 1.0),
    Setting("normal", 200, 200, 5, "random", 0.02, False, "shift", 0.5),
    Setting("normal", 200, 100, 10, "Y-like", 0.05, False, "shift", 1.5),
    Setting("normal", 100, 200, 2, "adversary", 0.1, False, "shift", 1.0),
    Setting("normal", 200, 200, 1, "X-like", 0.05, True, "shift", 0.7),
    Setting("normal", 200, 200, 50, "random", 0.02, True, "shift", 1.5),
    Setting("normal", 100, 100, 1, "random", 0.02, False, "scale", 2.0),
    Setting("normal", 200, 200, 2, "cluster", 0.05, False, "scale", 1.5),
    Setting("normal", 200, 200, 10, "X-like", 0.1, False, "scale", 1.5),
    Setting("skewed", 100, 100, 2, "highest", 0.05, False, "shift", 0.7),
)
DATA_PERMUTATIONS = 999
RATES = ("pvalue", "pvalue_of_rule", "pvalue_as_filed")
TIED = 1e-12
"""Roots that differ by less are tied."""


class DataSet(NamedTuple):
    """Real groups: a name, a file, and the largest share tried."""

    name: str
    file: str | None
    largest: float


DATA_SETS = (
    DataSet("breast cancer", None, 0.5),
    DataSet("COMPAS logits", drawing.COMPAS_FILE, 0.3),
    DataSet("FOREST standardised, 700 + 700", drawing.FOREST_FILE, 0.4),
    DataSet("BIO: Golub, normal scores standardised", drawing.BIO_FILE, 0.3),
    DataSet("Golub, intensities standardised", drawing.BIO_FILE, 0.3),
)


class DataJob(NamedTuple):
    """Both tests on one data set."""

    setting: DataSet
    folder: str | None
    n_permutations: int = DATA_PERMUTATIONS
    trial: int = 0


def root_statistics(K, p, n_permutations, rng):
    """Return the root of the V-statistic for the first p rows against the others, and on permutations."""
    n = len(K)
    marks = np.zeros((1 + n_permutations, n))
    marks[0, :p] = 1.0
    for labels in marks[1:]:
        labels[rng.permutation(n)[:p]] = 1.0
    weights = marks / p - (1 - marks) / (n - p)
    roots = np.sqrt(np.maximum(np.einsum("ij,ij->i", weights @ K, weights), 0.0))
    return float(roots[0]), roots[1:]


def raised_by(n_corrupted, p, q):
    """Return by how much the rule asks the root to exceed its threshold (kappa = 1)."""
    return 2 * n_corrupted * math.sqrt(2) / min(p, q)


def rule_pvalue(observed, null, margin):
    """Return the smallest level at which the rule rejects: the p-value of the root less its margin."""
    return float(1 + np.count_nonzero(null >= observed - margin - TIED)) / (1 + len(null))


def run_trial(job):
    """Draw, misfile, test with both; return the record."""
    filed, record = testing.tested(job, "power")
    p, q = len(filed.X), len(filed.Y)
    rng = np.random.default_rng([record["seed"], 1])
    K = testing.kernel_matrix(filed.X, filed.Y)
    observed, null = root_statistics(K, p, job.n_permutations, rng)
    return {**record, "pvalue_of_rule": rule_pvalue(observed, null, raised_by(record["most_moved"], p, q))}


def real_groups(name, folder):
    """Return the groups of a data set: X is the group whose rows may be filed under the other."""
    if name == "breast cancer":
        data = overlooked_tumours(0.0)
        return mb.groups(
            data.table(data.truth), "diagnosis", hidden="malignant", among="benign", id="patient"
        )
    if name == "COMPAS logits":
        with np.load(Path(folder) / drawing.COMPAS_FILE) as file:
            logits, black = file["logits"].astype(np.float64), file["black"]
        return logits[black == 1], logits[black == 0]
    if name.startswith("BIO"):
        return drawing.draw("BIO", folder, drawing.N_BIO, None)
    if name.startswith("Golub"):
        with np.load(Path(folder) / drawing.BIO_FILE) as file:
            Z, y = file["X_raw"].astype(np.float64), file["y"]
        return drawing.standardised(Z[y == 0], Z[y == 1])
    rng = np.random.default_rng(records.seed_of("power", name, 0))
    return drawing.draw("FOREST standardised", folder, 1400, rng)


def run_data(job):
    """Return up to how many misfiled rows each test still rejects; -1 if it does not even with none."""
    name, seed = job.setting.name, records.seed_of("power", job.setting.name, 0)
    X, Y = real_groups(name, job.folder)
    p, q = len(X), len(Y)
    options = {"level": LEVEL, "n_permutations": job.n_permutations, "rng": seed}
    swept = mb.sweep(X, Y, epsilons=(0.0, job.setting.largest), **options)
    K = testing.kernel_matrix(np.asarray(X), np.asarray(Y))
    observed, null = root_statistics(K, p, job.n_permutations, np.random.default_rng([seed, 1]))
    holds = [rule_pvalue(observed, null, raised_by(r, p, q)) <= LEVEL for r in range(q)]
    return {
        "setting": name,
        "trial": job.trial,
        "seed": seed,
        "n_permutations": job.n_permutations,
        "sizes": [p, q],
        "holds": -1 if swept.holds_n_moved is None else swept.holds_n_moved,
        "above": swept.breakdown_n_moved is None,
        "holds_of_rule": [*holds, False].index(False) - 1,
        "is_proved": swept.is_valid and swept.is_confirmed,
        "seconds": swept.provenance.seconds,
        "version": mb.__version__,
    }


def deficit(of_setting, n_settings):
    """Return the p-value for the rule being the more powerful: exact, on the trials where they differ."""
    ours, rule = (np.array([r[name] <= LEVEL for r in of_setting]) for name in ("pvalue", "pvalue_of_rule"))
    only_rule, differ = int(np.count_nonzero(rule & ~ours)), int(np.count_nonzero(rule ^ ours))
    if differ == 0:
        return 1.0
    return min(1.0, n_settings * float(binomtest(only_rule, differ, 0.5, alternative="greater").pvalue))


def row(setting, of_setting, n_settings):
    """Return one line of the first table."""
    cells = [
        setting.groups,
        f"{setting.difference} {setting.size:g}",
        setting.mechanism,
        setting.misfiled,
        of_setting[0]["m"],
        len(of_setting),
        *(testing.shown_rate(of_setting, name) for name in RATES),
        f"{deficit(of_setting, n_settings):.2g}",
        f"{records.average(record['seconds'] for record in of_setting):.2f}",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def table(found, chosen):
    """Return the lines of the first table, one row a setting."""
    heads = ["true groups", "Y differs by", "misfiled", "assumed", "m", "trials"]
    heads += ["robust test rejects (± standard error)", "rule rejects", "ordinary test rejects"]
    heads += ["p-value for the rule rejecting more often, corrected", "mean seconds"]
    lines = [f"| {' | '.join(heads)} |", "|:--|:--|:--|:--|" + "--:|" * (len(heads) - 4)]
    return lines + [row(s, some, len(chosen)) for s, some in testing.by_setting(found, chosen)]


def share(n_moved, p):
    """Return up to which share of the true X a test rejects, in words."""
    return "not at all" if n_moved < 0 else f"{n_moved / (p + n_moved):.3f} ({n_moved:,} rows)"


def data_table(found, data_sets):
    """Return the lines of the second table, one row a data set."""
    heads = ["data", "X + Y", "robust test rejects up to"]
    heads += ["rule rejects up to", "proved", "seconds"]
    lines = [f"| {' | '.join(heads)} |", "|:--|" + "--:|" * (len(heads) - 1)]
    for data, record in zip(data_sets, found, strict=True):
        p, q = record["sizes"]
        cells = [
            data.name,
            f"{p:,} + {q:,}",
            ("at least " if record["above"] else "") + share(record["holds"], p),
            share(record["holds_of_rule"], p),
            "yes" if record["is_proved"] else "no",
            f"{record['seconds']:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def failures(found, chosen, real=()):
    """Return the names of the settings and data on which the rule does better."""
    groups = testing.by_setting(found, chosen)
    worse = [s.name for s, some in groups if deficit(some, len(chosen)) <= LEVEL]
    return worse + [record["setting"] for record in real if record["holds"] < record["holds_of_rule"]]


def report(found, chosen, real, data_sets, made):
    """Return the whole page."""
    versions = ", ".join(sorted({record["version"] for record in [*found, *real]}))
    permutations = ", ".join(map(str, sorted({record["n_permutations"] for record in found})))
    about = (
        "Y differs from X by a shift of its first column or by the scale of all columns. m rows of X are "
        "filed under Y, in the ways listed for the type-I error. The robust test assumes exactly m rows, "
        "or up to the stated share of the true X. The rule, after dcMMD (Schrab and Kim 2024, "
        "arXiv:2405.19912), assumes that as many rows are corrupted. It rejects if the root of the "
        "V-statistic exceeds its permutation quantile by 2 r sqrt(2) / min(p, q), and would stay valid if "
        "the r rows were replaced by anything. The ordinary test is not valid under misfiling. RBF "
        f"kernel, median bandwidth; {permutations} permutations; level {records.percent(LEVEL, 0)}. The "
        "p-value is exact. It uses the trials in which the two differ, and is multiplied by the number of "
        "settings."
    )
    second = (
        "On real groups, the table shows the largest misfiled share of the true X up to which each test "
        f"rejects at {records.percent(LEVEL, 0)} ({DATA_PERMUTATIONS} permutations). X: malignant, "
        "African-American, Lodgepole Pine, ALL."
    )
    how = (
        f"Seed of a trial: {records.SEED_RULE}, with the study 'power'. "
        "Made by `python -m lab.studies.power`, "
        f"mmdbounds {versions}; {records.machine()}. {made}"
    )
    worse = failures(found, chosen, real)
    verdict = f"The rule does significantly better in {len(worse)} of {len(chosen) + len(real)} rows."
    blocks = ["# Power, beside a rule for corrupted rows", about, "\n".join(table(found, chosen))]
    if real:
        blocks += [second, "\n".join(data_table(real, data_sets))]
    return "\n\n".join([*blocks, verdict, how]) + "\n"


def check_folder(folder, data_sets):
    """End the program with a line that says what is missing, before hours of work."""
    files = [data.file for data in data_sets if data.file is not None]
    if files and folder is None:
        records.fail("name the folder with the data: --data FOLDER, or MMDBOUNDS_DATA.")
    missing = [name for name in files if not (Path(folder) / name).is_file()]
    if missing:
        records.fail(f"{folder} does not hold {', '.join(missing)}.")


def main(arguments=None, chosen=SETTINGS, data_sets=DATA_SETS):
    about_data = {"default": os.environ.get("MMDBOUNDS_DATA"), "help": "folder with the data"}
    options = testing.parse(arguments, "power", __doc__, [("--data", about_data)])
    if options.again:
        return testing.again(options, chosen, run_trial)
    check_folder(options.data, data_sets)
    found, made = testing.gather(options, chosen, run_trial)
    jobs = [DataJob(data, options.data) for data in data_sets]
    real, _ = testing.collect(jobs, run_data, options.records, 1)
    page = report(found, chosen, real, data_sets, made)
    print(page)
    options.records.with_suffix(".md").write_text(page, encoding="utf-8")
    for name in failures(found, chosen, real):
        print(f"another test does better: '{name}'", file=sys.stderr)
    return 1 if failures(found, chosen, real) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Audits of real groups with made-up misfiling: how often the decision is wrong, and after how many rows.

    python -m lab.studies.audits --data FOLDER [--trials 200] [--records FILE] [--processes 2]
    python -m lab.studies.audits --data FOLDER --again "BIO, no difference, highest" 17

The true groups are real ones, or all of their rows split at random, so that there is no difference. A tenth
of X is filed under Y: at random, the rows most typical of X (nonrandom), or those with the highest first
column. Rows are looked up in batches of 20 in the recorded order until `mb.audit` has decided. A decision is
wrong if it says that a difference stands where the groups were split at random. Where they were not, the rows
that were checked are shown beside the number that `mb.plan_audit` (anytime) states beforehand for the true
number of misfiled rows, and the width of the interval after 5, 10 and 20 % of Y were verified, at random and
by effect (ranked again after every 5 %), as a share of that with none verified.

One JSON line a trial goes to FILE (default: results/audits.jsonl); a run that was stopped continues.
The table goes to the file of the same name that ends in .md. The exit code is 1 if some setting has
significantly more wrong decisions than level + 1 - audit level, and 2 if something is wrong with the call.
"""

from __future__ import annotations

import os
import sys
import time
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

import mmdbounds as mb
from lab.studies import drawing, records, testing
from lab.studies.power import real_groups

LEVEL, AUDIT_LEVEL = 0.05, 0.95
ALLOWED = LEVEL + 1 - AUDIT_LEVEL
SHARE, BATCH = 0.1, 20
VERIFIED = (0.05, 0.1, 0.2)


class Setting(NamedTuple):
    """True groups and how they were misfiled."""

    source: str
    n_rows: int
    truth: str
    mechanism: str
    folder: str | None = None

    @property
    def name(self):
        """As the records have it."""
        return f"{self.source}, {self.truth}, {self.mechanism}"


SETTINGS = tuple(
    Setting(source, n_rows, truth, mechanism)
    for source, n_rows in (
        ("FOREST standardised", 300),
        ("COMPAS logits", 300),
        ("BIO", drawing.N_BIO),
    )
    for truth, mechanisms in (
        ("true groups", ("random", "nonrandom")),
        ("no difference", ("random", "nonrandom", "highest")),
    )
    for mechanism in mechanisms
)


def highest(X, Y, n_moved, rng):
    """Return the rows of X with the highest first column."""
    return np.argsort(X[:, 0])[-n_moved:]


def filed_groups(setting, rng):
    """Return the groups as filed, with what is true."""
    if setting.source == "COMPAS logits":
        every = real_groups(setting.source, setting.folder)
        half = setting.n_rows // 2
        X, Y = (group[rng.choice(len(group), half, replace=False)] for group in every)
    else:
        X, Y = drawing.draw(setting.source, setting.folder, setting.n_rows, rng)
    if setting.truth == "no difference":
        pooled = rng.permutation(np.concatenate([X, Y]))
        X, Y = pooled[: len(X)], pooled[len(X) :]
    mechanism = highest if setting.mechanism == "highest" else setting.mechanism
    return mb.simulate(X, Y, SHARE, mechanism=mechanism, rng=rng)


def looked_up(filed, rows):
    """Return what somebody who looked these rows up would write down."""
    truth = np.full(len(filed.Y), "", dtype=object)
    truth[rows] = np.where(np.isin(rows, filed.rows_of_y), "X", "Y")
    return None, truth


def audited(filed, seed, n_permutations):
    """Return the first and the last result of an audit."""
    how = {"rng": seed, "n_next": BATCH, "n_permutations": n_permutations, "progress": False}
    how |= {"level": LEVEL, "audit_level": AUDIT_LEVEL}
    first = result = mb.audit(filed.X, filed.Y, **how)
    rows = []
    while not result.is_decided and len(result.next_rows):
        rows += result.next_rows.tolist()
        result = mb.audit(filed.X, filed.Y, verified=looked_up(filed, rows), **how)
    return first, result


def planned(first, n_misfiled):
    """Return the number of rows that a plan states for the true number misfiled, `None` if none is enough."""
    if first.breakdown_n_moved is None or n_misfiled >= first.breakdown_n_moved:
        return None
    n_rows, breakdown = first.n_samples_Y, first.breakdown_n_moved
    plan = mb.plan_audit(n_rows, breakdown, n_misfiled=n_misfiled, audit_level=AUDIT_LEVEL, anytime=True)
    return plan.points[0].n_checked


def bounded(filed, rows, seed):
    """Return the bounds once these rows were looked up; how many are misfiled in all is known."""
    left = filed.n_moved - int(np.isin(rows, filed.rows_of_y).sum())
    verified = looked_up(filed, np.array(rows, dtype=np.intp)) if len(rows) else None
    amount = mb.Contamination(n_moved=left)
    return mb.mmd_bounds(filed.X, filed.Y, amount, verified=verified, rng=seed, progress=False)


def widths(filed, seed):
    """Return the widths after some rows were verified, as shares of that with none."""
    order = np.random.default_rng(seed).permutation(len(filed.Y))
    none, by_effect, found = bounded(filed, [], seed), [], {}
    result = none
    for share in np.arange(0.05, max(VERIFIED) + 0.01, 0.05).round(2).tolist():
        count = round(share * len(filed.Y))
        known = set(by_effect)
        if result.n_moved:  # once all misfiled rows are found, nothing is left to rank
            ranked = [row for row in result.row_table()["row"].tolist() if row not in known]
            by_effect += ranked[: count - len(by_effect)]
            result = bounded(filed, by_effect, seed)
        if share in VERIFIED:
            at_random = bounded(filed, order[:count], seed)
            found[str(share)] = [at_random.width / none.width, result.width / none.width]
    return found


def run_trial(job):
    """Draw, misfile, audit; return the record."""
    setting = job.setting
    seed = records.seed_of("audits", setting.name, job.trial)
    filed = filed_groups(setting, np.random.default_rng(seed))
    started = time.perf_counter()
    first, last = audited(filed, seed, job.n_permutations)
    is_real = setting.truth == "true groups"
    return {
        "setting": setting.name,
        "trial": job.trial,
        "seed": seed,
        "decision": last.decision,
        "n_rows": len(filed.Y),
        "n_misfiled": filed.n_moved,
        "breakdown": first.breakdown_n_moved,
        "n_checked": last.n_random,
        "n_planned": planned(first, filed.n_moved) if is_real else None,
        "is_covered": last.n_misfiled_range[0] <= filed.n_moved <= last.n_misfiled_range[1],
        "widths": widths(filed, seed) if is_real else {},
        "n_permutations": job.n_permutations,
        "seconds": time.perf_counter() - started,
        "version": mb.__version__,
    }


def wrong(some):
    """Return how many decisions are wrong."""
    return sum(record["decision"] == "the difference stands" for record in some)


def failures(found, chosen):
    """Return the settings with significantly more wrong decisions than allowed, corrected for many."""
    null = [(s, some) for s, some in testing.by_setting(found, chosen) if s.truth == "no difference"]
    return [
        setting.name
        for setting, some in null
        if len(null) * binomtest(wrong(some), len(some), ALLOWED, alternative="greater").pvalue <= 0.05
    ]


def median(some, name):
    """Return the median of a number where it is known, as text."""
    known = [record[name] for record in some if record[name] is not None]
    return f"{np.median(known):.0f}" if known else "-"


def share(some, what):
    """Return how often something is so, as text."""
    return records.percent(np.mean([what(record) for record in some]))


def row(setting, some):
    """Return one line of the table."""
    cells = [setting.source, setting.truth, setting.mechanism, len(some), median(some, "n_rows")]
    cells += [median(some, "n_misfiled"), median(some, "breakdown")]
    for decision in ("the difference stands", "explained away", "no difference shown"):
        cells.append(share(some, lambda record, name=decision: record["decision"] == name))
    cells += [median(some, "n_checked"), median(some, "n_planned")]
    cells.append(share(some, lambda record: not record["is_covered"]))
    for verified in map(str, VERIFIED):
        both = [record["widths"][verified] for record in some if record["widths"]]
        cells.append(" / ".join(f"{100 * mean:.0f}" for mean in np.mean(both, axis=0)) if both else "-")
    return f"| {' | '.join(map(str, cells))} |"


def report(found, chosen, made):
    """Return the whole page."""
    heads = ["data", "truth", "misfiled", "trials", "rows of Y", "m", "breakdown", "stands", "explained away"]
    heads += ["no difference shown", "rows checked", "planned", "limit wrong"]
    heads += [f"width at {100 * verified:.0f} %, random / effect" for verified in VERIFIED]
    lines = [f"| {' | '.join(heads)} |", "|:--|:--|:--|" + "--:|" * (len(heads) - 3)]
    lines += [row(setting, some) for setting, some in testing.by_setting(found, chosen)]
    too_often = failures(found, chosen)
    closing = (
        f"Where there is no difference, 'stands' is wrong; it may be in {records.percent(ALLOWED, 0)} of the "
        f"trials. It is significantly more often in {len(too_often)} settings. Numbers of rows are medians. "
        "Widths are per cent of that with nothing verified, means over the trials, with the true number "
        "misfiled known. Limit wrong: when the audit ended."
    )
    head = "# Audits: wrong decisions, and rows until the decision"
    how = f"Seed of a trial: {records.SEED_RULE}, with the study 'audits'. {records.machine()}. {made}"
    return (
        "\n\n".join([head, " ".join(__doc__.split("\n\n")[2].split()), "\n".join(lines), closing, how]) + "\n"
    )


def main(arguments=None, chosen=SETTINGS):
    data = ("--data", {"default": os.environ.get("MMDBOUNDS_DATA"), "help": "folder with the data"})
    options = testing.parse(arguments, "audits", __doc__, [data], n_trials=200)
    drawing.check_folder(options.data, {setting.source for setting in chosen})
    placed = tuple(setting._replace(folder=options.data) for setting in chosen)
    if options.again:
        return testing.again(options, placed, run_trial)
    found, made = testing.gather(options, placed, run_trial)
    page = report(found, placed, made)
    print(page)
    options.records.with_suffix(".md").write_text(page, encoding="utf-8")
    for name in failures(found, placed):
        print(f"wrong too often: '{name}'", file=sys.stderr)
    return 1 if failures(found, placed) else 0


if __name__ == "__main__":
    sys.exit(main())

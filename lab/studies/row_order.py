"""In which order should rows be checked? Misfiled rows found, and what is left of the interval.

    python -m lab.studies.row_order [--trials 10] [--processes 2] [--records FILE]

True groups of real data are drawn, rows of X are filed under Y in four ways, and the rows of Y are put into
an order. AUC: the probability that a misfiled row comes before another one. Precision: the share of misfiled
rows among the first m, if m are misfiled. Then rows are checked in that order, a twentieth of Y at a time,
with a new order after each batch: misfiled rows go back to X, the others can no longer move, and the width of
what is left between the smallest and the largest value found is compared with that at the beginning.

Ways to choose the rows of X that are filed under Y:

- random: any;
- far: from the 2m rows with the largest witness, the rows most typical of X;
- near: from the 2m rows with the smallest witness, the rows most like Y;
- logistic: with odds that grow with a random linear score of the columns.

The table goes to lab/studies/results/row_order.md, after some minutes on two cores; a stopped run resumes.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mmdbounds as mb
from lab.datasets import load_bio, load_forest, overlooked_tumours
from lab.datasets.files import data_folder
from lab.studies import records, testing
from mmdbounds.counts import Counts
from mmdbounds.errors import BandwidthWarning
from mmdbounds.objective import Labelling, Quadratic, group_sums
from mmdbounds.results.row_table import ranked
from mmdbounds.search.exchanges import refine, row_effects
from mmdbounds.search.protocol import leading, outwards
from mmdbounds.sums import make_sums

STUDY = "row_order"
MOST_ROWS = 150
"""True rows of each group."""

EPSILON = 0.2
BATCHES = 4
"""Each a twentieth of Y."""

STARTS = 6
"""Random starts of the search for the largest value, beside the greedy one."""

STEEPNESS = 1.5  # of the logistic model, per standard deviation of its score

ORDERS = ("lower bound", "either bound", "classifier", "random", "misfiled first")
"""By the change of the lower bound, by the larger of both, by a classifier (`doubt`), and two extremes."""


def tumours():
    told = overlooked_tumours(EPSILON)
    names = {"hidden": "malignant", "among": "benign", "id": "patient"}
    return [group.values for group in mb.groups(told.table(told.truth), "diagnosis", **names)]


def clean(load, *arguments):
    data = load(*arguments)
    return [data.X, data.Y]


def split(file, columns, label):
    """Return the rows of a file whose label is 1 and 0, each with some of the arrays as columns."""
    arrays = np.load(data_folder(None) / file)
    of_x = arrays[label] == 1
    return [arrays[columns][of_x], arrays[columns][~of_x]]


DATA = {
    "tumours": tumours,
    "leukaemia": lambda: clean(load_bio),
    "forest": lambda: clean(load_forest),
    "chest, view": lambda: split("mimic_standin_nih_cxr14.npz", "logits14", "view_ap"),
    "COMPAS, outcome": lambda: split("mimic_standin_compas.npz", "logits", "y"),
    "COMPAS, race": lambda: split("mimic_standin_compas.npz", "logits", "black"),
    "chest, sex": lambda: split("mimic_standin_nih_cxr14.npz", "logits14", "female"),
    "diabetes, race": lambda: split("mimic_standin_diabetes130.npz", "logits", "black"),
}


def near(X, Y, n_moved, rng):
    pool = np.argsort(testing.witness(X, Y), kind="stable")[: min(2 * n_moved, len(X))]
    return rng.choice(pool, n_moved, replace=False)


def logistic(X, Y, n_moved, rng):
    score = X @ rng.normal(size=X.shape[1])
    weight = np.exp(STEEPNESS * (score - score.mean()) / (score.std() or 1.0))
    return rng.choice(len(X), n_moved, replace=False, p=weight / weight.sum())


MECHANISMS = {"random": "random", "far": "nonrandom", "near": near, "logistic": logistic}


class Job(NamedTuple):
    """One trial."""

    data: str
    mechanism: str
    trial: int


def filed(job, rng):
    """Return the groups as filed, standardised over the rows of both."""
    groups = []
    for rows in DATA[job.data]():
        groups.append(np.asarray(rows[np.sort(rng.permutation(len(rows))[:MOST_ROWS])], dtype=float))
    pooled = np.concatenate(groups)
    spread = pooled.std(axis=0)
    groups = [(rows - pooled.mean(axis=0)) / np.where(spread > 0, spread, 1.0) for rows in groups]
    return mb.simulate(*groups, EPSILON, mechanism=MECHANISMS[job.mechanism], rng=rng)


class Movable(Labelling):
    """A labelling of which only the first rows of Y may move."""

    def __init__(self, quadratic, n_movable):
        super().__init__(quadratic)
        self.active = slice(quadratic.totals.p, quadratic.totals.p + n_movable)
        self.sign, self.moved, self.shift = (each[:n_movable] for each in (self.sign, self.moved, self.shift))


class Checked:
    """The groups as filed once some rows of Y have been looked up; rows are numbered as in Y."""

    def __init__(self, simulated, rng):
        self.simulated, self.rng = simulated, rng
        self.misfiled = np.isin(np.arange(len(simulated.Y)), simulated.rows_of_y)
        self.is_known = np.zeros(len(simulated.Y), dtype=bool)

    @property
    def open_rows(self):
        """Rows of Y that have not been looked up."""
        return np.flatnonzero(~self.is_known)

    def bounds(self):
        """Return the width, and the rows that are open in the orders of the two kinds of effects."""
        found, confirmed = self.is_known & self.misfiled, self.is_known & ~self.misfiled
        m = int(self.misfiled.sum() - found.sum())
        Y, rows = self.simulated.Y, self.open_rows
        X = np.concatenate([self.simulated.X, Y[found]])
        if m == 0:
            return 0.0, dict.fromkeys(ORDERS[:2], rows)
        Z = np.concatenate([X, Y[rows], Y[confirmed]])
        totals = group_sums(make_sums(Z, self.simulated.kernel), len(X), len(Z) - len(X))
        quadratic = Quadratic(totals, Counts(m, 0, len(X) + m, len(Z) - len(X) - m), "unbiased")
        sides = {side: self._extreme(quadratic, len(rows), side) for side in ("lower", "upper")}
        width = sides["upper"].value() - sides["lower"].value()
        effects = {side: row_effects(each, side) for side, each in sides.items()}
        either = np.fmax(np.abs(effects["lower"]), np.abs(effects["upper"]))
        columns = {"row": np.arange(len(rows)), "in_upper": sides["upper"].moved}
        table = ranked([columns | {f"{side}_change": change for side, change in effects.items()}])
        return width, {
            "lower bound": rows[table["row"]],
            "either bound": rows[np.argsort(-np.nan_to_num(either, nan=-1.0), kind="stable")],
        }

    def _extreme(self, quadratic, n_movable, side):
        """Return the best labelling found, from one greedy start and, above, some random ones."""
        found = []
        for start in range(1 if side == "lower" else 1 + STARTS):
            labelling = Movable(quadratic, n_movable)
            scores = outwards(side) * labelling.gradient() if start == 0 else self.rng.random(n_movable)
            labelling.move(leading(labelling, scores))
            refine(labelling, side)
            found.append(labelling)
        return max(found, key=lambda labelling: outwards(side) * labelling.value())

    def order(self, name, orders):
        """Return the open rows in the order of this name."""
        rows = self.open_rows
        if name in orders:
            return orders[name]
        if name == "classifier":
            known = self.is_known & self.misfiled
            X, Y = np.concatenate([self.simulated.X, self.simulated.Y[known]]), self.simulated.Y[~known]
            return rows[np.argsort(-doubt(X, Y)[~self.is_known[~known]], kind="stable")]
        mixed = self.rng.permutation(rows)
        return mixed if name == "random" else mixed[np.argsort(~self.misfiled[mixed], kind="stable")]


def doubt(X, Y):
    """Return the probability that each row of Y belongs to X, by a classifier fitted to other rows."""
    model = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000))
    rows, is_x = np.concatenate([X, Y]), np.arange(len(X) + len(Y)) < len(X)
    folds = StratifiedKFold(min(5, len(Y)), shuffle=True, random_state=0)
    return cross_val_predict(model, rows, is_x, cv=folds, method="predict_proba")[len(X) :, 1]


def scored(order, misfiled):
    """Return AUC and precision of an order of all rows."""
    rank, m = rankdata(-np.argsort(order)), int(misfiled.sum())
    auc = (rank[misfiled].sum() - m * (m + 1) / 2) / (m * (len(order) - m))
    return float(auc), float(misfiled[order[:m]].mean())


def run(job):
    """Return the record of one trial."""
    started = time.process_time()
    rng = np.random.default_rng(records.seed_of(STUDY, f"{job.data}|{job.mechanism}", job.trial))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BandwidthWarning)
        simulated = filed(job, rng)
    q = len(simulated.Y)
    record = {**job._asdict(), "m": simulated.n_moved, "q": q}
    for name in ORDERS:
        checked = Checked(simulated, np.random.default_rng(simulated.seed or 0))
        first, orders = checked.bounds()
        order, widths = checked.order(name, orders), []
        auc, precision = scored(order, checked.misfiled)
        for batch in range(1, BATCHES + 1):
            n_more = round(batch * q / 20) - int(checked.is_known.sum())
            checked.is_known[order[:n_more]] = True
            width, orders = checked.bounds()
            order = checked.order(name, orders)
            widths.append(width / first)
        record[name] = {"auc": auc, "precision": precision, "widths": widths}
    return {**record, "seconds": time.process_time() - started, "version": mb.__version__}


def key(record):
    return record["data"], record["mechanism"], record["trial"]


def cells(of_setting, what):
    """Return the means of one number over the trials, for each order that it is shown of."""
    return [float(np.mean([what(record[name]) for record in of_setting])) for name in ORDERS]


def page(found, made):
    """Return the tables as Markdown."""
    lines = [
        "# In which order should rows be checked?",
        "",
        f"Up to {MOST_ROWS} true rows of each group; {records.percent(EPSILON, 0)} of X are filed under Y,",
        "and exactly so many are assumed. Orders: by the change of the lower bound (`row_table()`), by the",
        "larger change of the two bounds, by a cross-validated logistic regression, at random, and",
        f"misfiled rows first, which nobody can know. {made}",
        "",
        "AUC and precision at m, in brackets (m of the q rows of Y are misfiled; chance: 0.5, and m/q):",
        "",
        "| data | misfiled | m/q | lower bound | either bound | classifier |",
        "|:--|:--|--:|--:|--:|--:|",
    ]
    for (data, mechanism), some in [*by_setting(found), (("all", "all"), found)]:
        aucs, hits = cells(some, lambda each: each["auc"]), cells(some, lambda each: each["precision"])
        share = np.mean([record["m"] / record["q"] for record in some])
        told = " | ".join(f"{auc:.2f} ({hit:.2f})" for auc, hit in zip(aucs[:3], hits[:3], strict=True))
        lines.append(f"| {data} | {mechanism} | {share:.2f} | {told} |")
    lines += [
        "",
        "Width that is left after 5, 10 and 20 % of Y were checked in that order, in per cent of the width",
        "before, with a new order after each twentieth:",
        "",
        f"| data | misfiled | {' | '.join(ORDERS)} |",
        f"|:--|:--|{'--:|' * len(ORDERS)}",
    ]
    for (data, mechanism), some in [*by_setting(found), (("all", "all"), found)]:
        told = [
            ", ".join(f"{100 * np.mean([r[name]['widths'][b] for r in some]):.0f}" for b in (0, 1, 3))
            for name in ORDERS
        ]
        lines.append(f"| {data} | {mechanism} | {' | '.join(told)} |")
    return "\n".join(lines) + "\n"


def by_setting(found):
    return [
        ((data, mechanism), [r for r in found if (r["data"], r["mechanism"]) == (data, mechanism)])
        for data in DATA
        for mechanism in MECHANISMS
    ]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog=f"python -m studies.{STUDY}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trials", type=int, default=10, help="trials per setting")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--records", type=Path, default=records.RESULTS / f"{STUDY}.jsonl")
    parser.add_argument("--out", type=Path, default=records.RESULTS / f"{STUDY}.md")
    options = parser.parse_args(arguments)
    if options.trials < 1 or options.processes < 1:
        parser.error("--trials and --processes must be at least 1")
    if data_folder(None) is None:
        records.fail("the data are needed. Name their folder in MMDBOUNDS_DATA.")
    jobs = [Job(d, m, trial) for trial in range(options.trials) for d in DATA for m in MECHANISMS]
    try:
        found, _ = records.collect(
            jobs, [tuple(job) for job in jobs], key, run, options.records, options.processes
        )
    except KeyboardInterrupt:
        print(f"stopped; the same command resumes from {options.records}", file=sys.stderr)
        return 130
    made = f"{options.trials} trials for each line; mmdbounds {mb.__version__}."
    options.out.write_text(page(found, made), encoding="utf-8")
    print(f"{options.out} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
